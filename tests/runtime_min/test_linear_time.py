"""Reading a text takes time in proportion to its length, whatever it consists of."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.speak_command import paragraphs, written_paragraphs
from runtime_min.speech.sentences import find_sentences
from runtime_min.speech.split import find_breaks, split
from runtime_min.speech.subtitles import cues
from runtime_min.speech.timing import Timing
from runtime_min.text.clauses import read_clauses
from runtime_min.text.written_forms import find_written_forms

LENGTH = 4_000
MOST = 50
"""A text that takes so many times as long as plain words is looked at: a quadratic one took 300 times."""
PART, GROWTH = 4, 9
"""A part of the text may take a ninth of its time: it takes a fourth if time is linear, and a sixteenth if
it is quadratic."""
LETTERS = " \n\ta.,\"»'-…。"
UNITS = ["".join(unit) for length in (1, 2) for unit in product(LETTERS, repeat=length)]


def pieces(text: str) -> None:
    split(text, find_breaks(text), limit=510, size=250, before=0)


def clauses(text: str) -> None:
    read_clauses(text, lambda clause: [])


def written_forms(text: str) -> None:
    find_written_forms(text, british=False)


def subtitles(text: str) -> None:
    cues(text, [Timing(word, place, place + 0.5) for place, word in enumerate(text.split())])


def seconds(function: Callable[[str], object], text: str, repeats: int = 1) -> float:
    """CPU time, the shortest of some."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function(text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "function", [paragraphs, written_paragraphs, pieces, clauses, subtitles, find_sentences, written_forms]
)
def test_no_text_takes_much_longer_than_words_of_its_length(function: Callable[[str], object]) -> None:
    plain = seconds(function, "ab " * (LENGTH // 3), 5)
    for unit in UNITS:
        for end in ("", "a"):
            part, text = (f"a{unit * (length // len(unit))}{end}" for length in (LENGTH // PART, LENGTH))
            if seconds(function, text) > MOST * plain:
                # In turns, because a busy machine may slow one of the two for a while.
                turns = [(seconds(function, text), seconds(function, part)) for _ in range(5)]
                taken, of_part = map(min, zip(*turns, strict=True))
                assert taken <= GROWTH * of_part, repr(f"a{unit}…{end}")


@given(st.text(" \n\r\ta", max_size=30))
def test_a_line_break_is_a_space_with_the_spaces_around_it(text: str) -> None:
    parts = [re.sub(r"\s*\n\s*", " ", part.strip("\r\n")) for part in re.split(r"\n\s*\n", text)]
    assert paragraphs(text) == [part for part in parts if part.strip()]


@given(st.text(" \n\r\ta", max_size=30))
def test_written_paragraphs_keep_every_character_in_its_place(text: str) -> None:
    parts = written_paragraphs(text)
    assert text.startswith("".join(parts)) and "".join(parts).rstrip() == text.rstrip() * bool(parts)
    separate = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    assert [part.strip() for part in parts] == separate
