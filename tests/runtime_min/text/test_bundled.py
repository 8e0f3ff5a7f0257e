from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporter.bundle.write import write_bundle
from exporter.text.files import text_files
from runtime_min.errors import (
    BundleError,
    ManifestError,
    NoTextError,
    SpokenTypeError,
    TextDataError,
    VoiceLanguageError,
)
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of, read_manifest, verify_files
from runtime_min.speech.request import Request
from runtime_min.speech.words import OwnWords, Segment, Word
from runtime_min.text import bundled, installed_g2p
from runtime_min.text.bundled import BundledText
from tests.support.paths import ROOT
from tests.support.tiny.bundle import dummy_contents, with_entries

VOICES = ("af_heart", "bm_fable", "ef_dora", "if_sara", "im_nicola", "zf_xiaobei")


@pytest.fixture(scope="module")
def bundle(text_bundle: Path) -> Path:
    return text_bundle


def text_of(bundle: Path) -> BundledText:
    files = BundleFiles(bundle)
    return BundledText(manifest_of(files), files)


def parts(text: BundledText, content: Any, voice: Any = "af_heart", **options: Any) -> list[Segment]:
    """Returns the segments of words."""
    request = Request(text=content, voice=voice, **options)
    found = text.portions(request, dict.fromkeys(VOICES, np.zeros((1, 2), np.float32)))
    return [segment for portion in found for segment in portion.content]  # type: ignore[misc]


def spoken(bundle: Path, text: str, voice: str = "af_heart", lexicon: OwnWords | None = None) -> str:
    (segment,) = parts(text_of(bundle), text, voice, lexicon=lexicon)
    return "".join((word.phonemes or "") + word.whitespace for word in segment.content)  # type: ignore[union-attr]


def test_text_is_spoken_in_the_dialect_of_the_voice(bundle: Path) -> None:
    text = "I used to live near the refuse."
    assert spoken(bundle, text) == "ˌI jˈust tə lˈɪv nˌɪɹ ðə ɹˈɛfjˌus."
    assert spoken(bundle, text, "bf_emma*0.5+af_heart*0.5") == "ˌI jˈuːst tə lˈɪv nˌɪə ðə ɹˈɛfjuːs."
    segments = [Segment("box"), Segment("box [pause:1s] box", voice="bm_fable")]
    assert parts(text_of(bundle), segments) == [
        Segment([Word("box", "bˈɑks")]),
        Segment([Word("box", "bˈɒks", " ")], voice="bm_fable", pause=1.0),
        Segment([Word("", "", " "), Word("box", "bˈɒks")], voice="bm_fable"),
    ]
    british = parts(text_of(bundle), "box", "custom", language="en-GB")
    assert british == [Segment([Word("box", "bˈɒks")])]


def test_a_long_text_comes_in_parts_that_end_with_sentences(bundle: Path) -> None:
    text = " ".join(f"Sentence {number} is here." for number in range(1000)) + " " + "endless " * 1000
    found = parts(text_of(bundle), text)
    texts = ["".join(word.text + word.whitespace for word in part.content) for part in found]  # type: ignore[union-attr]
    assert "".join(texts) == text
    assert 300 <= len(texts[0]) < 400
    assert all(1000 <= len(part) <= 3000 for part in texts[1:-1])
    assert all(part.rstrip().endswith(".") for part in texts[:15])


def test_words_that_no_lexicon_has_and_homographs_are_spoken(bundle: Path) -> None:
    assert spoken(bundle, "The blorptastic snorfs") == "ðə blˌɔɹptˈæstɪk snˈɔɹfs"
    assert spoken(bundle, "They live near a live studio") == "ðˌA lˈɪv nˌɪɹ ɐ lˈIv stˈudiO"


@pytest.mark.parametrize(
    ("lexicon", "text", "phonemes"),
    [
        ({"GIF": "ʤˈɪf"}, "A GIF, two GIFs", "ɐ ʤˈɪf, tˈu ʤˈɪfs"),
        ({"gif": "ʤˈɪf"}, "Gif GIF gif", "ʤˈɪf ʤˈɪf ʤˈɪf"),
        ({"the": "ðˈi"}, "the cat", "ðˈi kˈæt"),
        ({"lead": {"DEFAULT": "lˈid", "NOUN": "lˈɛd"}}, "lead", "lˈɛd"),
        ({"dove": "dˈuv", "Lead": "lˈɪd"}, "A dove and a Lead", "ɐ dˈuv ænd ɐ lˈɪd"),
    ],
)
def test_an_apps_own_words_come_first(bundle: Path, lexicon: OwnWords, text: str, phonemes: str) -> None:
    assert spoken(bundle, text, lexicon=lexicon) == phonemes


def test_pauses_and_ssml_are_segments_of_words_in_the_language_of_their_voice(bundle: Path) -> None:
    text = text_of(bundle)
    assert parts(text, "a [pause:1s] box") == [
        Segment([Word("a", "ɐ", " ")], pause=1.0),
        Segment([Word("", "", " "), Word("box", "bˈɑks")]),
    ]
    document = "<speak>a <phoneme ph='ʤˈɪf'>GIF</phoneme> <voice name='ef_dora'>niño</voice></speak>"
    assert parts(text, document, ssml=True) == [
        Segment([Word("a", "ɐ", " "), Word("GIF", "ʤˈɪf")], speed=1.0),
        Segment([Word("niño", "nˈiɲo")], voice="ef_dora", speed=1.0),
    ]
    for wrong in (None, 5, ["a"], Segment("a"), [Segment([Word("a", "a")])], [Word("a", "a")], b"a"):
        with pytest.raises(SpokenTypeError, match="text as str"):
            parts(text, wrong)


def test_wrong_words_are_refused(bundle: Path) -> None:
    for wrong in ({"a": 1}, {1: "a"}, {"a": {"NOUN": None}}):
        with pytest.raises(SpokenTypeError, match="lexicon"):
            spoken(bundle, "a", lexicon=wrong)  # type: ignore[arg-type]


def test_without_data_the_error_names_the_remedy(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(language: str) -> None:
        raise bundled.G2PMissingError("nothing is installed")

    monkeypatch.setattr(bundled, "find_g2p", missing)
    with pytest.raises(NoTextError, match="--languages en-us"):
        spoken(sound, "Hello")
    with pytest.raises(NoTextError, match="--languages ja"):
        text_of(sound).find_g2p("ja")
    with pytest.raises(bundled.G2PMissingError, match="nothing is installed"):
        text_of(sound).find_g2p("fr")
    monkeypatch.setattr(bundled, "find_g2p", lambda language: (language, str.upper))
    assert text_of(sound).find_g2p("en-GB") == ("en-gb", str.upper)
    assert text_of(sound).find_g2p("en_NZ") == ("en-gb", str.upper)
    with pytest.raises(NoTextError):
        text_of(sound).find_g2p("en-gb", {"a": "A"})


def test_a_bundle_speaks_what_it_has_data_for_or_what_is_installed(
    bundle: Path, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_g2p, "find_spec", lambda package: None)
    assert all(map(text_of(bundle).speaks, ("en-US", "en_AU", "it-IT", "es-MX", "zh-CN")))
    assert not any(map(text_of(sound).speaks, ("en-US", "it-IT", "es-MX", "ja", "fr", "tlh", "de", "zh")))
    monkeypatch.setattr(installed_g2p, "find_spec", lambda package: package != "misaki")
    assert [text_of(sound).speaks(tag) for tag in ("en-US", "pt-PT", "ja", "zh-TW", "de")] == [
        True,
        True,
    ] + 3 * [False]


def test_italian_is_spoken_with_its_accents(
    bundle: Path, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spoken(bundle, "Il popolo, l'acqua.", "if_sara") == "il pˈɔpolo, lˈakːwa."
    document = (
        "<speak>la <phoneme ph='ʤˈɪf'>GIF</phoneme> <break time='1s'/> "
        "<voice name='im_nicola'>sì</voice></speak>"
    )
    assert parts(text_of(bundle), document, "if_sara", ssml=True) == [
        Segment([Word("la", "lˈa", " "), Word("GIF", "ʤˈɪf")], pause=1.0, speed=1.0),
        Segment([Word("sì", "sˈiː")], voice="im_nicola", speed=1.0),
    ]
    assert text_of(bundle).find_g2p("it")[0] == "the bundle (it)"
    monkeypatch.setattr(bundled, "find_g2p", lambda language: (language, str.upper))
    assert text_of(sound).find_g2p("it") == ("it", str.upper)


def test_chinese_is_spoken_with_the_bundle_s_english(bundle: Path) -> None:
    document = (
        "<speak>用GPT-4写<break time='1s'/><phoneme ph='ʤˈɪf'>GIF</phoneme><sub alias='银行'>B</sub></speak>"
    )
    assert parts(text_of(bundle), document, "zf_xiaobei", ssml=True) == [
        Segment(
            [Word("用", "jʊ↘ŋ "), Word("GPT", "ʤˌipˌitˈi "), Word("-4写", "sɨ↘ɕje↓")], speed=1.0, pause=1.0
        ),
        Segment([Word("GIF", "ʤˈɪf "), Word("银行", "i↗nxa↗ŋ")], speed=1.0),
    ]
    assert text_of(bundle).find_g2p("zh-Hans-CN")[0] == "the bundle (zh)"
    assert spoken(bundle, "GPT和银行", "zf_xiaobei", lexicon={"GPT": "ˈe", "银行": "ˈa"}) == "ˈe xɤ↗ ˈa"
    assert [word.phonemes for word in text_of(bundle).find_g2p("zh", skip_emoji=True)[1]("😀")] == [""]


def test_japanese_is_spoken_with_the_bundle_s_english(bundle: Path) -> None:
    words = text_of(bundle).find_g2p("ja-JP")[1]("3人でGPTを")
    assert [(word.text, word.phonemes) for word in words] == [
        ("3人", "saɲɲiɴ "), ("で", "de "), ("GPT", "ʤˌipˌitˈi "), ("を", "o"),
    ]  # fmt: skip
    assert spoken(bundle, "GPTを", "jf_alpha", lexicon={"GPT": "ˈe", "を": "ˈa"}) == "ˈe ˈa"


def test_a_start_for_english_reads_nothing_of_other_languages(bundle: Path) -> None:
    code = (
        "import runtime_min.text.bundled, sys\n"
        "names = ('chinese', 'japanese', 'segmented')\n"
        "sys.exit(any(own in name for name in sys.modules for own in names))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
    text = text_of(bundle)
    parts(text, "Hello.")
    assert not any("dictionary" in path for path in text._data)


@pytest.mark.parametrize("voice", ["custom", [], 3, ["custom"]])
def test_the_language_of_some_voices_is_not_known(bundle: Path, voice: object) -> None:
    with pytest.raises(VoiceLanguageError, match="--language"):
        parts(text_of(bundle), "a", voice)


@pytest.mark.parametrize(
    "extension",
    [
        3,
        {"en-us": {}},
        {"en-us": dict.fromkeys(("lexicon", "tagger", "homographs", "letter_to_sound"), "no.bin")},
    ],
)
def test_a_wrong_extension_is_a_typed_error(tmp_path: Path, extension: object) -> None:
    made = with_entries(dummy_contents(tmp_path), extensions={"text": extension})
    with pytest.raises(ManifestError, match=r"extensions\.text"):
        spoken(write_bundle(tmp_path / "bundle", made), "a")


@pytest.mark.parametrize("extension", [3, {"zh": 3}, {"zh": "no.bin"}])
def test_a_wrong_dictionary_is_a_typed_error(tmp_path: Path, extension: object) -> None:
    made = with_entries(dummy_contents(tmp_path), extensions={"segmented": extension})
    with pytest.raises(ManifestError, match=r"extensions\.segmented"):
        spoken(write_bundle(tmp_path / "bundle", made), "a", "zf_xiaobei")


@pytest.mark.parametrize("extension", [3, {"it": 3}, {"it": "no.txt"}])
def test_wrong_rules_are_a_typed_error(tmp_path: Path, extension: object) -> None:
    made = with_entries(dummy_contents(tmp_path), extensions={"rules": extension})
    with pytest.raises(ManifestError, match=r"extensions\.rules"):
        spoken(write_bundle(tmp_path / "bundle", made), "a", "if_sara")


def test_damaged_data_are_typed_errors(bundle: Path, tmp_path: Path) -> None:
    files = text_files(("en-us",))
    for path in files.files:
        content = {**files.files, path: b"\xff" * 1000}
        made = dummy_contents(tmp_path).extended(type(files)(files.extensions, content))
        language = path.removeprefix("text/").removesuffix(".rules.bin")
        with pytest.raises(TextDataError):
            write_bundle(tmp_path / "bundle", made)
            parts(
                text_of(tmp_path / "bundle"), "a", "af_heart", language=language if ".rules" in path else ""
            )
    path = tmp_path / "bundle" / "text" / "en-us.lexicon.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BundleError):
        spoken(tmp_path / "bundle", "a")


def test_the_data_are_small_and_only_read_for_text(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    verify_files(bundle, manifest)
    assert sum(entry.bytes for entry in manifest.files if entry.path.startswith("text/")) < 14_000_000
    code = "import sys, runtime_min.speak_command; sys.exit('runtime_min.text.english' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_text_takes_little_memory_and_compiles_only_patterns_that_it_needs(bundle: Path) -> None:
    code = f"""if True:
        import runtime_min.bundle, tracemalloc
        from pathlib import Path
        from runtime_min.format.bundle_files import BundleFiles
        from runtime_min.format.verify import manifest_of
        files = BundleFiles(Path({str(bundle)!r}))
        manifest = manifest_of(files)
        tracemalloc.start()
        from runtime_min.text.bundled import BundledText
        from runtime_min.text.written_forms import _compiled
        text = BundledText(manifest, files)
        for language in ("en-us", "en-gb"):
            _, g2p = text.find_g2p(language)
            g2p("Hello world, this is a sentence.")
            assert _compiled.cache_info().currsize < 15
            for word in g2p._g2p._lexicon._first_words[::4]:
                g2p(word.decode())
        print(tracemalloc.get_traced_memory()[0])
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20_000_000
