"""Text that arrives bit by bit: cut anywhere it gives the same runs, the sentences of the whole text."""

from __future__ import annotations

import doctest
from collections.abc import Iterable
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.speech.sentences import find_sentences
from runtime_min.text import arriving
from runtime_min.text.arriving import ArrivingText, Run

WORDS = (
    "Dr. Smith St. John a.m. p.m. No. 5 I he He it It ... … ! ? . , ; 3.14 U.S. e.g. etc. 1) 2) 1. 2. ( ) "
    "(a.b) [ ] “Go!” \"No.\" 'so' wait, well. the cat sat on J. R. Tolkien $4.50, 3, 2025 so.Then x.com :("
).split()
SPACES = [" ", " ", " ", "\n\n", "  ", ""]
MIXED = [*WORDS, "[pause:0.5s]", "今日は。", "『元気』。", "말해.", "[x](/k/)", "🙂"]


def texts(words: Iterable[str], spaces: Iterable[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(st.sampled_from(list(words)), st.sampled_from(list(spaces))), max_size=40)
    return pairs.map(lambda found: "".join(word + space for word, space in found))


def runs(parts: Iterable[str]) -> list[Run]:
    text = ArrivingText()
    return [*(run for part in parts for run in text.push(part)), *text.end()]


def parts(text: str, cuts: Iterable[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


CUTS = st.lists(st.integers(0, 10**6), max_size=30)


@given(texts(MIXED, [*SPACES, "\n"]), CUTS)
def test_a_text_gives_the_same_runs_wherever_it_is_cut(text: str, cuts: list[int]) -> None:
    whole = runs([text])
    assert "".join(run.text for run in whole) == text
    assert runs(parts(text, cuts)) == runs(text) == whole
    assert [run.is_last for run in whole] == [False] * (len(whole) - 1) + [True]


@given(texts(WORDS, SPACES))
def test_runs_are_sentences_of_the_whole_text(text: str) -> None:
    """But for a first clause, a text begins with a capital letter and does not break its lines."""
    text = f"Well {text}"
    sentences = {start for start, _ in find_sentences(text)}
    starts = [0, *accumulate(len(run.text) for run in runs([text]))][1:-1]
    if starts and starts[0] not in sentences:
        assert starts.pop(0) <= 60
    assert sentences.issuperset(starts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Dr. Smith. He left. ", ["I met Dr. Smith. ", "He left. "]),
        ("Good evening, Dr. Smith. It is late.", ["Good evening, ", "Dr. Smith. ", "It is late."]),
        ("It was May 3, 2025, when I came. Then we", ["It was May 3, 2025, when I came. ", "Then we"]),
        ("He (Dr. A. Who? Yes) said so. Then we", ["He (Dr. A. Who? Yes) said so. ", "Then we"]),
        ("ok then. we go. now all", ["ok then. ", "we go. ", "now all"]),
        ("Wait. [pause:1s] Now we go!", ["Wait. [pause:1s]", " Now we go!"]),
        ("今日は。元気です。", ["今日は。", "元気です。"]),
        ("a heading\n\nand text", ["a heading\n\n", "and text"]),
        ("", [""]),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    assert [run.text for run in runs([text])] == expected


def test_a_run_comes_with_the_word_after_it() -> None:
    text = ArrivingText()
    assert not [*text.push("Good morning. It")] and text.has_rest
    assert [*text.push(" is")] == [Run("Good morning. ", "It")]
    assert [*text.flush()] == [Run("It is")] and [*text.flush()] == [] and not text.has_rest
    assert [*text.end()] == [Run("", is_last=True)]


def test_text_without_an_end_is_bounded() -> None:
    text = ArrivingText()
    longest = max(len(run.text) for run in text.push("word " * 2_000 + "x" * 5_000))
    assert longest <= 1_000


def test_the_documented_examples_hold() -> None:
    assert doctest.testmod(arriving).failed == 0
