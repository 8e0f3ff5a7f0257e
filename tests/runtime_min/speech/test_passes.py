"""Passes hold every piece once and within the limit; windows hold their piece, and gains know the pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from runtime_min.model.statistics import Statistics
from runtime_min.model.synthesiser import Prepared
from runtime_min.speech.passes import (
    BESIDE_FRAMES,
    FEWEST_FRAMES,
    LARGE_PIECE,
    MOST_FRAMES,
    Pass,
    find_passes,
    find_window,
    smaller_passes,
)
from tests.support.fakes.synthesiser import plan, ready

DURATIONS = st.lists(st.integers(1, 9), min_size=5, max_size=80)


@given(st.text("abc .,", min_size=1, max_size=400), st.integers(12, 120), st.booleans())
def test_every_piece_is_in_one_pass_that_the_model_holds(text: str, limit: int, opens: bool) -> None:
    (section,) = plan(text, limit=limit).sections
    section = section if opens else replace(section, opening=None)
    passes = find_passes(section, limit)
    assert [end for read in passes for _, end in read.pieces] == list(section.piece_ends)
    for read in passes:
        assert 0 <= read.start <= read.pieces[0][0] and read.pieces[-1][1] <= read.end <= len(text)
        assert read.end - read.start <= limit
        if read.pieces[-1][1] - read.pieces[0][0] > 1:
            halves = smaller_passes(section, read, limit)
            bounds = halves[0].pieces[0][0], halves[1].pieces[-1][1]
            assert bounds == (read.pieces[0][0], read.pieces[-1][1])


@given(st.text("abc ", min_size=150, max_size=400).map("abc. ".__add__), st.integers(12, 120))
def test_an_opening_that_no_piece_follows_is_read_once(text: str, limit: int) -> None:
    (section,) = plan(text, limit=limit).sections
    assume(section.opening)
    # Live text ends a section so, whose phonemes go on with what the opening is read with.
    (read,) = find_passes(replace(section, piece_ends=section.piece_ends[:1]), limit)
    assert read.pieces == ((section.start, section.piece_ends[0]),) and read.is_opening


def loud(durations: np.ndarray, seed: int = 0, statistics: Statistics | None = None) -> Prepared:
    """An utterance whose energy is noise."""
    frames = int(durations.sum())
    energy = np.random.default_rng(seed).normal(3, 2, 2 * frames).astype(np.float32)
    return ready(np.zeros(600 * frames, np.float32), durations, energy, statistics)


@given(DURATIONS, st.booleans(), st.data())
def test_with_statistics_of_the_voice_few_frames_are_beside_a_piece(
    lengths: list[int], opens: bool, data: st.DataObject
) -> None:
    durations = np.array(lengths, np.int64)
    phonemes = len(durations) - 2
    start = data.draw(st.integers(0, phonemes - 1))
    end = data.draw(st.integers(start + 1, phonemes))
    read = Pass(0, phonemes, ((start, end),), plan("a").sections[0].style, opens)
    statistics = {"norm": np.ones((2, 1), np.float32)}
    first, last, gain, of_voice = find_window(loud(durations, statistics=statistics), read, start, end)
    own = int(durations[start + 1 : end + 1].sum())
    assert of_voice == (own < LARGE_PIECE)
    if not of_voice:
        assert (first, last, gain) == find_window(loud(durations), read, start, end)[:3]
        return
    before, behind = int(durations[first : start + 1].sum()), int(durations[end + 1 : last].sum())
    assert gain == 1
    # As few tokens as have so many frames.
    assert start == 0 or before - durations[first] < BESIDE_FRAMES
    assert end == phonemes or behind - durations[last - 1] < BESIDE_FRAMES
    assert first == 0 or before >= BESIDE_FRAMES
    assert last == len(durations) or behind >= BESIDE_FRAMES


@given(DURATIONS, st.integers(0, 2**32 - 1), st.data())
def test_a_window_holds_its_piece_and_enough_of_what_is_beside_it(
    lengths: list[int], seed: int, data: st.DataObject
) -> None:
    durations = np.array(lengths, np.int64)
    prepared = loud(durations, seed)
    phonemes = len(durations) - 2
    start = data.draw(st.integers(0, phonemes - 1))
    end = data.draw(st.integers(start + 1, phonemes))
    read = Pass(0, phonemes, ((start, end),), plan("a").sections[0].style)
    first, last, gain, of_voice = find_window(prepared, read, start, end)
    assert not of_voice
    if (start, end) == (0, phonemes):
        assert (first, last, gain) == (0, len(durations), 1)
    before, behind = int(durations[first : start + 1].sum()), int(durations[end + 1 : last].sum())
    assert first == 0 or FEWEST_FRAMES <= before <= MOST_FRAMES + 9
    assert last == len(durations) or FEWEST_FRAMES <= behind <= MOST_FRAMES + 9
