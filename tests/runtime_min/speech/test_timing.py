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

from runtime_min.errors import EmptyInputError, SpokenTypeError
from runtime_min.speech.timing import Audio
from runtime_min.speech.words import Segment, Word, read_input
from tests.support.fakes.synthesiser import LETTERS, Fake, pieces, plan, spoken

PHONEMES = st.text(LETTERS, min_size=1, max_size=6)
WORDS = st.lists(
    st.builds(Word, st.text("ABC", min_size=1, max_size=5), PHONEMES, st.sampled_from(["", " "])),
    min_size=1,
    max_size=20,
).map(lambda words: [*words[:-1], Word(words[-1].text, words[-1].phonemes)])


class Random(Fake):
    """Durations of 1 to 9 frames, as a model might predict them."""

    def durations(self, phonemes: str, speed: float) -> np.ndarray:
        return np.random.default_rng(len(phonemes)).integers(1, 10, len(phonemes) + 2)


def kokoros(words: list[Word], durations: np.ndarray) -> list[tuple[str, float, float]]:
    tokens = [SimpleNamespace(**vars(word)) for word in words]
    KPipeline.join_timestamps(tokens, torch.from_numpy(durations))  # type: ignore[arg-type]
    return [(token.text, token.start_ts, token.end_ts) for token in tokens]


@given(WORDS)
def test_words_are_timed_as_kokoro_times_them(words: list[Word]) -> None:
    audio = spoken(plan(words, limit=200, whole=True), Random())
    assert [tuple(word) for word in audio.words] == kokoros(words, audio.durations)


@given(WORDS)
def test_each_token_is_timed_as_kokoro_would_time_it_as_a_word(words: list[Word]) -> None:
    letters = [Word(letter, letter) for word in words for letter in word.phonemes or ""]
    text = "".join(letter.text for letter in letters)
    audio = spoken(plan(text, limit=200, whole=True), Random())
    assert [tuple(token) for token in audio.tokens] == kokoros(letters, audio.durations)


@given(WORDS, st.integers(8, 30))
def test_across_joins_words_are_timed_by_the_durations_of_their_own_pieces(
    words: list[Word], limit: int
) -> None:
    planned = plan(words, limit=limit)
    audio = spoken(planned)
    assert [word.text for word in audio.words] == [word.text for word in words]
    # In the fake model the length of a token does not depend on its neighbours, so only the shift is left.
    whole = kokoros(words, Fake().durations(planned.phonemes, 1.0))
    shift = 0.009 * len(planned.sections[0].piece_ends)
    for found, expected in zip(audio.words, whole, strict=True):
        assert found.start == pytest.approx(expected[1], abs=shift)
        assert found.end == pytest.approx(expected[2], abs=shift)


def test_every_word_of_a_stream_is_in_one_piece() -> None:
    words = [Word("Word", "abc", " "), Word("dot", "de"), Word(".", ".", " ")] * 40
    found = list(pieces(plan(words)))
    assert len(found) > 3
    assert sum((piece.words for piece in found), ()) == Audio.join(found).words
    assert [word.text for word in Audio.join(found).words] == [word.text for word in words]
    for piece in found:
        assert len(piece.words) == piece.phonemes.count("abc") * 3


def test_pieces_of_a_stream_become_one_audio() -> None:
    with pytest.raises(ValueError, match="no pieces to join"):
        Audio.join([])


# What is given to be spoken.


def test_words_are_joined_as_kokoro_joins_them() -> None:
    words = [Word("(", "", ""), Word("Hi", "hˈI"), Word(",", ",", " "), Word("you", "ju", " ")]
    (passage,) = read_input(words, None)
    assert passage.phonemes == "hˈI, ju" == KPipeline.tokens_to_ps(words)  # type: ignore[arg-type]
    assert [(word.text, word.first, word.end) for word in passage.words] == [
        ("Hi", 0, 3),
        (",", 3, 4),
        ("you", 5, 7),
    ]


def test_misakis_tokens_and_a_g2p_of_words_or_phonemes_are_taken() -> None:
    token = SimpleNamespace(text="Hi", phonemes="hˈI", whitespace="", tag="UH")
    silent = SimpleNamespace(text="(", phonemes=None, whitespace=" ", tag="(")
    for phonemes, g2p in (([token, silent], None), ("Hi (", lambda text: [token, silent])):
        (passage,) = read_input(phonemes, g2p)  # type: ignore[arg-type, list-item]
        assert passage.phonemes == "hˈI" and passage.words[0].text == "Hi"
    assert read_input("Hi", lambda text: f"{text}!")[0].phonemes == "Hi!"
    both = read_input([Segment("a"), Segment("b", speed=2.0)], str.upper)
    assert [(passage.phonemes, passage.speed) for passage in both] == [("A", None), ("B", 2.0)]


WRONG: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "nothing": ("", None, EmptyInputError, "at least one"),
    "no words": ([], None, EmptyInputError, "at least one"),
    "an empty segment": ([Segment("a"), Segment("")], None, EmptyInputError, "at least one"),
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
        read_input(spoken, g2p)
