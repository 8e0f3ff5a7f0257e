"""Words are counted as edits, and the recogniser's own state does not reach a figure."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pocketsphinx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.listening.recogniser import (
    Recogniser,
    normalised,
    read_sentences,
    resampled,
    words_wrong,
)

words = st.lists(st.sampled_from("abc"), max_size=6)


@given(words, words, words)
def test_wrong_words_are_a_distance(one: list[str], two: list[str], three: list[str]) -> None:
    assert (words_wrong(one, two) == 0) == (one == two)
    assert words_wrong(one, two) == words_wrong(two, one) <= max(len(one), len(two))
    assert words_wrong(one, three) <= words_wrong(one, two) + words_wrong(two, three)
    assert words_wrong([*one, *three], [*two, *three]) <= words_wrong(one, two)


@pytest.mark.parametrize(
    ("expected", "heard", "wrong"),
    [("a b c", "a c", 1), ("a b c", "a x c", 1), ("a b", "a x b y", 2), ("", "a b", 2), ("a b", "b a", 2)],
)
def test_examples_of_wrong_words(expected: str, heard: str, wrong: int) -> None:
    assert words_wrong(expected.split(), heard.split()) == wrong


def test_case_and_marks_do_not_count() -> None:
    words = ["it's", "well", "known", "mr", "o'hara", "said"]
    assert normalised("It's “well-known”, Mr. O'Hara said!") == words


@pytest.mark.parametrize("pitch", [100, 1_000, 4_000])
def test_resampling_keeps_a_tone(pitch: int) -> None:
    tone = np.sin(2 * np.pi * pitch * np.arange(24_000) / 24_000).astype(np.float32)
    found = resampled(tone, 24_000, 16_000)
    wanted = np.sin(2 * np.pi * pitch * np.arange(16_000) / 16_000)
    assert abs(len(found) - 16_000) <= 32
    inside = slice(500, 15_000)
    assert float(np.abs(found[inside] - wanted[inside]).max()) < 1e-2


def test_the_sentences_have_words_of_the_dictionary() -> None:
    dictionary = Path(pocketsphinx.get_model_path("en-us")) / "cmudict-en-us.dict"
    known = {line.split()[0] for line in dictionary.read_text("utf-8").splitlines()}
    sentences = read_sentences()
    assert len(set(sentences)) == 100
    for sentence in sentences:
        assert 6 <= len(normalised(sentence)) <= 16, sentence
        assert re.fullmatch(r"[A-Z][a-zA-Z' ,]+[.?]", sentence), sentence
        assert known.issuperset(normalised(sentence)), sentence


def test_silence_has_no_words() -> None:
    recogniser = Recogniser()
    assert recogniser.words(np.zeros(12_000, np.float32)) == []
