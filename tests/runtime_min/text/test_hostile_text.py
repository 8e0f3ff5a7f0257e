"""English is read in linear time whatever it consists of, in parts as at once, and nothing is lost."""

from __future__ import annotations

import sys
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.text.bundled import _parts
from runtime_min.text.english import English
from tests.support.english_text import assert_spoken, english, lexicon, whole_english
from tests.support.hostile_text import UNITS

PIECES = (
    *UNITS,
    *("Dr. ", "read", "wound ", "May 5 ", "$4.50 ", "3:30pm", "[of](+1)", "[105](#a#)", "x@y.org"),
)
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=15).map("".join)
SENTENCES = (
    "He wound the clock. ", "On 3 May, she read $4.50! ", "“Is it?” he asked. ", "The U.S. is big. ",
    "See No. 5 for more, e.g. this. ", "[Kokoro](/kˈOkəɹO/) speaks. ", "It isn't 世界.\n", "Its own line\n\n",
)  # fmt: skip


def calls(text: str) -> int:
    """How many functions are called to read a text with new caches."""
    count = 0

    def counted(*_: Any) -> None:
        nonlocal count
        count += 1

    g2p = english()
    sys.setprofile(counted)
    try:
        g2p(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_work_is_linear(unit: str) -> None:
    few, many = (calls(unit * (length // len(unit))) for length in (300, 1200))
    assert many < 6 * few


@pytest.mark.parametrize("unit", ["a", "abc'", "a-b", "aB1-", "qx.", "é", "x1,"])
def test_a_word_without_end_is_spelled_not_sounded_out(unit: str) -> None:
    read = []

    def spell_out(letters: str) -> str:
        read.append(letters)
        return "?"

    g2p = English(
        lexicon("en-us"), False, lambda words: ["NN"] * len(words), lambda words, tags, place: None, spell_out
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
    parts = list(_parts(text))
    assert len(parts) > 1
    assert [word for part in parts for word in g2p(part)] == g2p(text)


@pytest.mark.parametrize("control", ["[b c](/d e/)", "[pause:0.5s]", "[b](+1)"])
@pytest.mark.parametrize("filler", ["a ", "a"])
def test_no_part_ends_within_a_control(control: str, filler: str) -> None:
    for length in range(2_980, 3_010, 2):
        text = (filler * 3_000)[:length] + control + filler * 500
        parts = list(_parts(text))
        assert "".join(parts) == text
        assert any(control in part for part in parts)
