"""Timings follow kokoro's rule, across joins, and words keep what belongs to them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kokoro import KPipeline

from runtime_min.errors import EmptyInputError, SpokenTypeError, UnknownPhonemesError
from runtime_min.speech.speak import speak
from runtime_min.speech.timing import Audio
from runtime_min.speech.words import Segment, Word, check_phonemes, read_spoken
from tests.support.fake_synthesis import LETTERS, STYLE, Fake, manner, sections

PHONEMES = st.text(LETTERS, min_size=1, max_size=6)
WORDS = st.lists(
    st.builds(Word, st.text("ABC", min_size=1, max_size=5), PHONEMES, st.sampled_from(["", " "])),
    min_size=1,
    max_size=20,
).map(lambda words: [*words[:-1], Word(words[-1].text, words[-1].phonemes)])


class Random(Fake):
    """Durations of 1 to 9 frames, as a model might predict them."""

    def __call__(self, phonemes: str, *_: object) -> tuple[np.ndarray, np.ndarray]:
        durations = np.random.default_rng(len(phonemes)).integers(1, 10, len(phonemes) + 2)
        return np.zeros(600 * durations.sum(), np.float32), durations


def kokoros(words: list[Word], durations: np.ndarray) -> list[tuple[str, float, float]]:
    tokens = [SimpleNamespace(**vars(word)) for word in words]
    KPipeline.join_timestamps(tokens, torch.from_numpy(durations))  # type: ignore[arg-type]
    return [(token.text, token.start_ts, token.end_ts) for token in tokens]


@given(WORDS)
def test_words_are_timed_as_kokoro_times_them(words: list[Word]) -> None:
    (section,) = sections(words, limit=200, whole=True)
    audio = Audio.join(speak([section], manner(limit=200), Random()))
    assert [tuple(word) for word in audio.words] == kokoros(words, audio.durations)


@given(WORDS)
def test_each_token_is_timed_as_kokoro_would_time_it_as_a_word(words: list[Word]) -> None:
    letters = [Word(letter, letter) for word in words for letter in word.phonemes or ""]
    (section,) = sections("".join(letter.text for letter in letters), limit=200, whole=True)
    audio = Audio.join(speak([section], manner(limit=200), Random()))
    assert [tuple(token) for token in audio.tokens] == kokoros(letters, audio.durations)


@given(WORDS, st.integers(8, 30))
def test_across_joins_words_are_timed_by_the_durations_of_their_own_pieces(
    words: list[Word], limit: int
) -> None:
    planned = sections(words, limit=limit)
    audio = Audio.join(speak(planned, manner(limit=limit), Fake()))
    assert [word.text for word in audio.words] == [word.text for word in words]
    # In the fake model the length of a token does not depend on its neighbours, so only the shift is left.
    whole = kokoros(words, Fake()(planned[0].passage.phonemes, STYLE, 1.0, 0)[1])
    shift = 0.009 * len(planned[0].ends)
    for found, expected in zip(audio.words, whole, strict=True):
        assert found.start == pytest.approx(expected[1], abs=shift)
        assert found.end == pytest.approx(expected[2], abs=shift)


def test_every_word_of_a_stream_is_in_one_piece() -> None:
    words = [Word("Word", "abc", " "), Word("dot", "de"), Word(".", ".", " ")] * 40
    pieces = list(speak(sections(words), manner(), Fake()))
    assert len(pieces) > 3
    assert sum((piece.words for piece in pieces), ()) == Audio.join(pieces).words
    assert [word.text for word in Audio.join(pieces).words] == [word.text for word in words]
    for piece in pieces:
        assert len(piece.words) == piece.phonemes.count("abc") * 3


def test_pieces_of_a_stream_become_one_audio() -> None:
    with pytest.raises(ValueError, match="no pieces to join"):
        Audio.join([])


# What is given to be spoken.


def test_words_are_joined_as_kokoro_joins_them() -> None:
    words = [Word("(", "", ""), Word("Hi", "hˈI"), Word(",", ",", " "), Word("you", "ju", " ")]
    (passage,) = read_spoken(words, None)
    assert passage.phonemes == "hˈI, ju" == KPipeline.tokens_to_ps(words)  # type: ignore[arg-type]
    assert [(word.text, word.first, word.end) for word in passage.words] == [
        ("Hi", 0, 3),
        (",", 3, 4),
        ("you", 5, 7),
    ]


def test_misakis_tokens_and_a_g2p_of_words_or_phonemes_are_taken() -> None:
    token = SimpleNamespace(text="Hi", phonemes="hˈI", whitespace="", tag="UH")
    silent = SimpleNamespace(text="(", phonemes=None, whitespace=" ", tag="(")
    for spoken, g2p in (([token, silent], None), ("Hi (", lambda text: [token, silent])):
        (passage,) = read_spoken(spoken, g2p)  # type: ignore[arg-type, list-item]
        assert passage.phonemes == "hˈI" and passage.words[0].text == "Hi"
    assert read_spoken("Hi", lambda text: f"{text}!")[0].phonemes == "Hi!"
    both = read_spoken([Segment("a"), Segment("b", speed=2.0)], str.upper)
    assert [(passage.phonemes, passage.speed) for passage in both] == [("A", None), ("B", 2.0)]


WRONG: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "nothing": ("", None, EmptyInputError, "at least one"),
    "no words": ([], None, EmptyInputError, "at least one"),
    "an empty segment": ([Segment("a"), Segment("")], None, EmptyInputError, "at least one"),
    "words without phonemes": ([Word("(", "")], None, EmptyInputError, "at least one"),
    "a g2p that says nothing": ("?", lambda text: "", EmptyInputError, "at least one"),
    "bytes": (b"abc", None, SpokenTypeError, "found bytes"),
    "a number": (7, None, SpokenTypeError, "found int: 7"),
    "None": (None, None, SpokenTypeError, "found NoneType"),
    "strings": (["a", "b"], None, SpokenTypeError, "found list"),
    "a mixture": ([Segment("a"), Word("b", "b")], None, SpokenTypeError, "found list"),
    "a segment of numbers": ([Segment(7)], None, SpokenTypeError, "found int"),  # type: ignore[arg-type]
    "words of numbers": ([Word("a", 7)], None, SpokenTypeError, "found Word"),  # type: ignore[arg-type]
    "words for a g2p": ([Word("a", "a")], str, SpokenTypeError, "because a g2p was given"),
    "misaki's pair": ("a", lambda text: ("a", []), SpokenTypeError, "from the g2p, found tuple"),
    "a g2p without result": ("a", lambda text: None, SpokenTypeError, "from the g2p, found NoneType"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_spoken_is_refused_by_type(name: str) -> None:
    spoken, g2p, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        read_spoken(spoken, g2p)


def test_unknown_symbols_are_named_with_their_words_and_both_offsets() -> None:
    words = [Word("Go", "ab", " "), Word("naïve", "a❓"), Word("!", "!")]
    (passage,) = read_spoken(words, None)
    with pytest.raises(
        UnknownPhonemesError, match=r"'❓' \(U\+2753\) at 4.* words 'naïve' at 3\b"
    ) as refusal:
        check_phonemes(passage, dict.fromkeys("ab !", 1))
    assert refusal.value.positions == {"❓": (4,)}
