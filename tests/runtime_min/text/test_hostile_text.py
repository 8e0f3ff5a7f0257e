"""English is read in linear time whatever it consists of, in parts as at once, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.text.bundled import _divided
from runtime_min.text.english import English
from tests.support.english_text import assert_spoken, english, lexicon, whole_english
from tests.support.fuzzing.texts import PROSE, UNITS, WORST, shapes
from tests.support.languages import rules

PIECES = (
    *UNITS,
    *("Dr. ", "read", "wound ", "May 5 ", "$4.50 ", "3:30pm", "[of](+1)", "[105](#a#)", "x@y.org"),
)
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=15).map("".join)
SENTENCES = (
    "He wound the clock. ", "On 3 May, she read $4.50! ", "“Is it?” he asked. ", "The U.S. is big. ",
    "See No. 5 for more, e.g. this. ", "[Kokoro](/kˈOkəɹO/) speaks. ", "It isn't 世界.\n", "Its own line\n\n",
)  # fmt: skip


LANGUAGES = ("en-us", "en-gb", "es", "fr-fr", "hi", "it", "pt-br")
MOST = 8
"""A character of hostile text may take so many times the calls of one of prose; once some took 39 times."""


def reader(language: str) -> Callable[[str], object]:
    return whole_english(language) if language.startswith("en") else rules(language)


def calls(text: str, read: Callable[[str], object] | None = None) -> int:
    """Number of calls of functions to read a text, with new caches if no reader is given."""
    count = 0

    def counted(*_: Any) -> None:
        nonlocal count
        count += 1

    read = read or english()
    sys.setprofile(counted)
    try:
        read(text)
    finally:
        sys.setprofile(None)
    return count


def calls_for_a_character(unit: str, read: Callable[[str], object]) -> float:
    """Counts the calls for a repetition that was read before: words that no lexicon has take long once."""
    text = unit * (600 // len(unit))
    read(text)
    return calls(text, read) / len(text)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_work_is_linear(unit: str) -> None:
    few, many = (calls(unit * (length // len(unit))) for length in (300, 1200))
    assert many < 6 * few


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_shapes_of_text_take_calls_in_proportion_to_their_length(language: str) -> None:
    read = reader(language)
    for shape in shapes(705)[LANGUAGES.index(language) :: len(LANGUAGES)]:
        few, many = (calls(shape * (length // len(shape)), read) for length in (4_000, 16_000))
        assert many < 6 * few, shape


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_repetition_takes_much_more_work_than_prose(language: str) -> None:
    read = reader(language)
    most = MOST * calls_for_a_character(PROSE, read)
    assert {unit for unit in WORST if calls_for_a_character(unit, read) > most} == set()


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_shape_takes_much_more_work_than_prose(language: str) -> None:
    read = reader(language)
    usual = calls_for_a_character(PROSE, read)
    found = {shape: calls_for_a_character(shape, read) / usual for shape in shapes(2_000)}
    worst = sorted(found, key=found.__getitem__, reverse=True)[:5]
    print(f"{language}: {[(shape, round(found[shape], 1)) for shape in worst]}")
    assert found[worst[0]] <= MOST


@pytest.mark.parametrize("unit", ["a", "abc'", "a-b", "aB1-", "qx.", "é", "x1,"])
def test_a_word_without_end_is_spelled_not_sounded_out(unit: str) -> None:
    read = []

    def spell_out(letters: str) -> str:
        read.append(letters)
        return "?"

    g2p = English(
        lexicon("en-us"),
        False,
        lambda sentences: [["NN"] * len(words) for words in sentences],
        lambda words, tags, place: None,
        spell_out,
    )
    words = g2p(unit * 3_000)
    assert "".join(word.text for word in words) == unit * 3_000
    assert all(word.phonemes for word in words)
    assert not read


@settings(deadline=None, max_examples=60)
@given(TEXT, st.sampled_from(["en-us", "en-gb"]))
def test_any_text_is_spoken_in_kokoros_alphabet_or_reported(text: str, language: str) -> None:
    assert_spoken(text, whole_english(language))


@settings(deadline=None, max_examples=6)
@given(st.integers(0))
def test_a_long_text_in_parts_is_spoken_as_at_once(seed: int) -> None:
    text = "".join(Random(seed).choices(SENTENCES, k=250))
    g2p = whole_english()
    parts = list(_divided(text))
    assert len(parts) > 1
    assert [word for part in parts for word in g2p(part)] == g2p(text)


@pytest.mark.parametrize("control", ["[b c](/d e/)", "[pause:0.5s]", "[b](+1)"])
@pytest.mark.parametrize("filler", ["a ", "a"])
def test_no_part_ends_within_a_control(control: str, filler: str) -> None:
    for length in range(2_980, 3_010, 2):
        text = (filler * 3_000)[:length] + control + filler * 500
        parts = list(_divided(text))
        assert "".join(parts) == text
        assert any(control in part for part in parts)
