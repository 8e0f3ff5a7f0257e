"""The C interface speaks text with the samples of the Python runtime, and refuses what that refuses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from ctypes import byref
from pathlib import Path
from typing import Any

import pytest

from exporter.text.files import LANGUAGES
from runtime_min import KokoroError
from tests.support.fuzzing.texts import UNITS
from tests.support.language_tags import LANGUAGE_TAGS
from tests.support.native.both_runtimes import BothRuntimes, assert_equal, both_runtimes
from tests.support.native.library import CALLBACK, NativeError, native_library, request

ENGLISH = (
    "On 3 May 2025 Dr. Smith read it for $4.50! Will she read [Kokoro](/kˈOkəɹO/), too? [pause:0.2s] Yes."
)
SPANISH = "El 3 de mayo, ¿cuántos niños llegaron? Llegaron 21; el guía pagó 4,50 €."
ITALIAN = "Il 3 maggio è arrivata l'amica di Sara: ha pagato 4,50 € per gli spaghetti. Perché?"
CHINESE = "2025年10月1日下午15:30，我们在银行用GPT-4，花了¥3.5万。歡樂！"
JAPANESE = "2025年10月1日、3人でGoogleへ行った。「ﾊﾝﾊﾞｰｶﾞｰ」は¥1,500だ！"
SSML = (
    '<speak>One <break time="300ms"/> <prosody rate="150%">two &amp; three</prosody>, '
    '<voice name="bf_emma">four</voice> <phoneme alphabet="ipa" ph="fˈIv">5</phoneme>.</speak>'
)
SPOILED = re.compile("[\0\ud800-\udfff]")
"""A string of C has no zero byte, and UTF-8 no surrogate."""
SPOKEN: tuple[dict[str, Any], ...] = (
    {"text": ENGLISH},
    {"text": ENGLISH, "voice": "bf_emma", "speed": 1.3, "seed": 2**64 - 1},
    {"text": ENGLISH, "voice": "am_adam*0.4+af_heart", "language": "en-gb", "trim": True},
    {"text": SPANISH, "voice": "ef_dora", "sentence_pause": 0.2, "clause_pause": 0.1},
    {"text": SPANISH, "language": "es"},
    {"text": SPANISH, "voice": "ef_dora", "language": ""},
    {"text": ITALIAN, "voice": "if_sara", "clause_pause": 0.25},
    {"text": CHINESE, "language": "zh"},
    {"text": JAPANESE, "language": "ja"},
    {"text": "好👍🏽的", "language": "zh", "skip_emoji": True},
    {"text": SSML, "ssml": True},
    {"text": "Hello", "voice": "af_heart+ef_dora"},
    {"text": "It works 👍🏽 – e\u0301te\u0301!"},
    {"text": "It works 👍🏽 – e\u0301te\u0301!", "skip_emoji": True},
)
REFUSED: tuple[dict[str, Any], ...] = (
    {"text": ""},
    {"text": " \n\t"},
    {"text": "👍", "skip_emoji": True},
    {"text": "Hello", "language": "xx"},
    {"text": "Hello", "voice": "nobody"},
    {"text": "Hello", "speed": 9.0},
    {"text": "[Hello](/ж/)"},
    {"text": "<speak>Hello", "ssml": True},
    {"text": "<speak><audio src='x'/></speak>", "ssml": True},
    {"text": "<speak><break time='1h'/>Hello</speak>", "ssml": True},
    {"text": "<speak><voice name='nobody'>Hello</voice></speak>", "ssml": True},
    {"text": "<!DOCTYPE x [<!ENTITY a 'b'>]><speak>&a;</speak>", "ssml": True},
)


@pytest.fixture(scope="module")
def both(reading_bundle: Path) -> Iterator[BothRuntimes]:
    with both_runtimes(native_library(), reading_bundle) as loaded:
        yield loaded


@pytest.mark.parametrize("spoken", SPOKEN, ids=lambda each: f"{each['text'][:12]} {len(each)}")
def test_text_is_spoken_with_equal_samples_words_and_times(
    both: BothRuntimes, spoken: dict[str, Any]
) -> None:
    assert both.python.synthesize(**spoken).words
    both.compare(**spoken)
    both.compare_streams(**spoken)


@pytest.mark.parametrize("refused", REFUSED, ids=lambda each: f"{each['text'][:30]} {len(each)}")
def test_text_is_refused_with_the_code_of_python_s_error(both: BothRuntimes, refused: dict[str, Any]) -> None:
    with pytest.raises(KokoroError) as expected:
        both.python.synthesize(**refused)
    for function in (both.library.synthesize, both.library.stream):
        with pytest.raises(NativeError, match=f"^{type(expected.value).__name__}: "):
            function(both.native, **refused)


@pytest.mark.parametrize("code", LANGUAGE_TAGS)
def test_a_tag_chooses_the_language_that_it_chooses_in_python(both: BothRuntimes, code: str | None) -> None:
    for tag in LANGUAGE_TAGS[code].split():
        for language in (tag, tag.upper(), tag.replace("-", "_")):
            if code in LANGUAGES:
                spoken = {"text": "Ciao, tomato 3", "voice": "af_heart", "language": language}
                assert_equal(both.library.synthesize(both.native, **spoken), both.python.synthesize(**spoken))
            else:
                message = f"^LanguageError: .*'{code or tag.lower()}'"
                with pytest.raises(NativeError, match=message):
                    both.library.synthesize(both.native, text="Ciao", language=language)


@pytest.mark.parametrize("kind", ["text", "ssml"])
def test_hostile_text_is_spoken_or_refused_alike(both: BothRuntimes, kind: str) -> None:
    units = [
        each for each in UNITS if not SPOILED.search(each) and (kind == "text" or set("<&[") & set(each))
    ]
    for unit in units:
        ssml = kind == "ssml"
        text = f"<speak>{unit * 5}</speak>" if ssml else unit * 5
        try:
            expected = both.python.synthesize(text, ssml=ssml)
        except KokoroError as error:
            with pytest.raises(NativeError, match=f"^{type(error).__name__}: "):
                both.library.synthesize(both.native, text=text, ssml=ssml)
        else:
            assert_equal(both.library.synthesize(both.native, text=text, ssml=ssml), expected)


def test_bytes_that_are_not_utf_8_are_refused(both: BothRuntimes) -> None:
    for text in (b"a\xff", b"\xc0\x80", b"\xed\xa0\x80", b"caf\xc3"):
        with pytest.raises(NativeError, match=r"^TextEncodingError: "):
            both.library.synthesize(both.native, text=text)


def test_a_field_that_is_not_utf_8_is_named(both: BothRuntimes, reading_bundle: Path) -> None:
    for field in ("voice", "language"):
        with pytest.raises(NativeError, match=f"^TextEncodingError: The field '{field}' .* byte 1,"):
            both.library.synthesize(both.native, text="Hola", **{field: b"e\xff"})
    for field in ("level", "manifest_sha256"):
        with pytest.raises(NativeError, match=f"^TextEncodingError: The field '{field}' .* byte 1,"):
            both.library.load(reading_bundle, **{field: b"e\xff"})


def test_a_path_may_have_any_bytes_and_a_message_is_utf_8(
    both: BothRuntimes, reading_bundle: Path, tmp_path: Path
) -> None:
    """Linux's names of files are bytes."""
    place = os.fsencode(tmp_path) + b"/b\xff"
    with pytest.raises(NativeError, match=r"^MissingFileError: .*/b\ufffd"):
        both.library.load_at(place)
    os.symlink(reading_bundle, place)
    both.library.functions.kokoro_free(both.library.load_at(place))

    refusals = []

    def save(piece: Any, _: Any) -> int:
        both.library.call("kokoro_write_wav", piece, place + b".wav")
        try:
            both.library.call("kokoro_write_wav", piece, place + b".no/a.wav")
        except NativeError as refusal:
            refusals.append(str(refusal))
        return 0

    both.library.call("kokoro_stream", both.native, byref(request("a")), CALLBACK(save), None)
    assert os.stat(place + b".wav").st_size > 44
    (refusal,) = refusals
    assert re.match(r"OutputError: .*/b\ufffd", refusal)
