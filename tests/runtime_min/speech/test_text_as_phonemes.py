"""Text that is given as phonemes is warned of, and no phonemes are taken for text."""

from __future__ import annotations

import json
import re
import warnings
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import TextAsPhonemesWarning, UnknownPhonemesError
from runtime_min.speech.plan import plan_speech
from runtime_min.speech.request import Capabilities, Request, check_phonemes
from runtime_min.speech.text_as_phonemes import looks_like_text
from runtime_min.speech.words import G2P, PhonemeInput, Portion, Segment, Word
from tests.support.fakes.synthesiser import VOICE
from tests.support.paths import SHARED
from tests.support.utterances import HELLO, phonemes_of

GOLDEN = sorted((SHARED / "text" / "golden").glob("*.jsonl"))
LONG = phonemes_of(520)
TEXTS = [
    "hello world",
    "Is this a test?",
    "what time is it, please?",
    "To be or not to be: that is the question.",
    "hola, como estas?",
    "bonjour tout le monde",
    "ciao, come stai?",
    "hello",
    "test",
]
PHONEMES = [
    # misaki's, and espeak-ng's through kokoro's pipeline: parts of sentences with no stress are the hardest.
    "həlˈO wˈɜɹld!", "hi wil", "wi, ju and hi", "kˈæn kˈæn", "kan kan", "wOnt", "mI", "az at", "hid",
    "ˈola, kˈomo estˈas?", "kon el", "de la", "para", "bɔ̃ʒˈuʁ", "ma", "non", "per", "ʧˈao", "por", "ky", "W",
    "nəmˈʌsteː", "ki", "a", "ni↓xau↓", "pu↘ ma", "koɴniʨiwa", "watasi wa neko da", "kore wa pen desu",
    "tokjo e iku", "kimi no na wa", "…", "“”", "",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_recognised(text: str) -> None:
    assert looks_like_text(text)


@pytest.mark.parametrize("phonemes", PHONEMES)
def test_phonemes_are_not_taken_for_text(phonemes: str) -> None:
    assert not looks_like_text(phonemes)


def utterances() -> list[str]:
    """Phonemes of tests here, and where they are present, the many that misaki made of texts."""
    rows = chain.from_iterable(map(json.loads, path.read_text().splitlines()) for path in GOLDEN)
    return [HELLO, LONG, *PHONEMES, *(row["phonemes"] for row in rows if row.get("phonemes"))]


def test_no_part_of_an_utterance_is_taken_for_text() -> None:
    for utterance in utterances():
        words = utterance.split()
        for first in range(len(words)):
            for count in (1, 2, 3, 4, len(words)):
                part = " ".join(words[first : first + count])
                assert not looks_like_text(part), part


@given(st.text("aekmnst ˈˌəːɹ.,"))
def test_a_stress_mark_or_a_letter_of_phonetics_is_enough(phonemes: str) -> None:
    assert not looks_like_text(phonemes) or not re.search("[ˈˌəːɹ]", phonemes)


@given(st.lists(st.from_regex("[bdfhkmnprstvwz]?j?[aeiou] ?", fullmatch=True)))
def test_open_syllables_are_not_taken_for_text(syllables: list[str]) -> None:
    assert not looks_like_text("".join(syllables))


def test_a_million_letters_take_no_longer_than_their_number_asks() -> None:
    assert looks_like_text("ja" * 500_000 + "x")


def plan(given: PhonemeInput, g2p: G2P | None = None) -> None:
    letters = "".join(map(chr, range(32, 127)))
    capabilities = Capabilities({"af_heart": VOICE}, dict.fromkeys(letters + "əˈ", 1), 510)
    plan_speech(capabilities, Request(phonemes=given, g2p=g2p), Portion(given), whole=True)


@pytest.mark.parametrize("given", ["hello world", [Segment("həlˈO"), Segment("hello world")]])
def test_text_in_place_of_phonemes_is_warned_of_with_what_to_do(given: PhonemeInput) -> None:
    with pytest.warns(TextAsPhonemesWarning, match=r"text: 'hello world'.* pass it as text .* --text"):
        plan(given)


def test_what_a_g2p_or_words_say_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan("any text", lambda text: "hello world")
        plan([Word("Hello", "hello", " "), Word("world", "world")])
        plan("həlˈo world")


def test_digits_are_refused_with_the_same_advice() -> None:
    with pytest.raises(UnknownPhonemesError, match=r"'2' .* pass it as text .* --text"):
        check_phonemes("at 2", dict.fromkeys("at ", 1))
