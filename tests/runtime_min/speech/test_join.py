"""Two renderings meet without a step, a dip or a click, wherever their phases stand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runtime_min.speech.join import HALF_FADE, LARGEST_SHIFT, Excerpt, Joiner, best_shift, crossfade, quietest
from runtime_min.speech.silence import find_speech, levels

RATE = 24_000
F0 = st.floats(80, 300)


def voice(seconds: float, f0: float, phase: float, seed: int = 0) -> np.ndarray:
    """Syllables: harmonics up to 4 kHz that fall by 6 dB an octave, F0 and level that move, and breath."""
    times = np.arange(round(seconds * RATE)) / RATE
    contour = f0 * (1 + 0.1 * np.sin(2 * np.pi * 2.3 * times))
    angle = 2 * np.pi * np.cumsum(contour) / RATE + phase
    numbers = np.arange(1, int(4_000 / f0) + 1)
    sound = (np.cos(numbers[:, None] * angle) / numbers[:, None]).sum(axis=0)
    breath = np.random.default_rng(seed).standard_normal(len(times))
    envelope = 0.1 * (1.3 + np.sin(2 * np.pi * 4 * times))
    return (envelope * (sound / sound.std() + 0.02 * breath)).astype(np.float32)


class Joined(NamedTuple):
    """Two renderings on one time line, and the crossfade between them."""

    sound: np.ndarray
    left: np.ndarray
    right: np.ndarray
    """Moved to where it lies on the time line; what it lacks there is 0."""
    shift: int
    fade: slice
    """Samples that are neither those of the left rendering nor those of the right one."""


def joined(left: np.ndarray, right: np.ndarray, border: int, gap: int = 0) -> Joined:
    """Joins `left` up to about `border` with `right` from there on."""
    joiner = Joiner()
    joiner.add(Excerpt(left, 0, border, 0, gap))
    first = joiner.take()
    shift = joiner.add(Excerpt(right, border, len(right), gap, 0))
    sound = np.concatenate([first, joiner.take(last=True)])
    moved = np.zeros(len(sound), np.float32)
    moved[max(0, shift) :] = right[max(0, -shift) :]
    begin = int(np.flatnonzero(sound[: len(left)] != left[: len(sound)])[0])
    end = int(np.flatnonzero(sound != moved)[-1]) + 1
    return Joined(sound, left, moved, shift, slice(begin, end))


def clicks(found: Joined) -> float:
    """The energy of the second difference in 1 ms of the crossfade, at most, over that of both renderings.

    It weighs high frequencies most, so a step or a kink stands out. The squares of a crossfade's gains add up
    to at most 1, so no sample of it has more energy than both renderings together; slow gains keep that true
    of the differences.
    """
    inner = slice(found.fade.start - 24, found.fade.stop + 24)
    fade, left, right = (
        np.convolve(np.diff(sound[inner].astype(np.float64), 2) ** 2, np.ones(24), "valid")
        for sound in (found.sound, found.left, found.right)
    )
    return float((fade / (left + right)).max())


def level(sound: np.ndarray) -> float:
    return float(10 * np.log10((sound.astype(np.float64) ** 2).mean()))


def largest_dip(found: Joined) -> float:
    """Greatest level difference in dB between 50 ms of the joined sound and both renderings there."""
    starts = range(1_000, len(found.left) - 2_400, 120)
    sound, left, right = (
        np.array([level(each[at : at + 1_200]) for at in starts])
        for each in (found.sound, found.left, found.right)
    )
    return float(np.minimum(np.abs(sound - left), np.abs(sound - right)).max())


VOWEL = RATE * 17 // 16 + 600
"""The middle of a syllable, where all is loud."""


@pytest.mark.parametrize("phase", [0.0, 1.0, 2.0, np.pi, 4.0, 5.0])
@pytest.mark.parametrize("f0", [80.0, 123.0, 200.0, 290.0])
def test_renderings_meet_without_a_dip_or_a_click(f0: float, phase: float) -> None:
    left = voice(2, f0, 0.0)
    for border, detune, dip in ((RATE, 0.98, 1), (RATE, 1.0, 1), (RATE, 1.02, 1), (VOWEL, 1.0, 0.5)):
        found = joined(left, voice(2, f0 * detune, phase, seed=1), border)
        assert abs(found.shift) <= LARGEST_SHIFT
        assert found.fade.stop - found.fade.start <= 2 * HALF_FADE
        assert clicks(found) <= 1 and largest_dip(found) < dip


@given(arrays(np.float32, (2, 2 * HALF_FADE), elements=st.floats(-1, 1, width=32)))
def test_no_sample_of_a_crossfade_has_more_energy_than_both_renderings(both: np.ndarray) -> None:
    left, right = both.astype(np.float64)
    assert (crossfade(*both).astype(np.float64) ** 2 <= (left**2 + right**2) * (1 + 1e-5) + 1e-12).all()


@settings(max_examples=30)
@given(F0, st.floats(0, 2 * np.pi), st.integers(-2_000, 0))
def test_pieces_meet_where_both_are_quiet(f0: float, phase: float, late: int) -> None:
    """A pause of 40 ms in the gap before the border, a little apart in both renderings."""
    border = RATE // 2
    left, right = voice(1, f0, 0.0), voice(1, f0, phase, seed=1)
    for sound, at in ((left, border + late - 960), (right, border + late - 1_100)):
        sound[at : at + 960] *= 1e-3
    made = joined(left, right, border, 2_400)
    sound, shift = made.sound, made.shift
    assert len(sound) == len(right) + shift
    # All of the left sound up to the pause is there as it was, and all of the right one from it on.
    end, start = border + late - 960 - HALF_FADE, border + late + 2 * HALF_FADE
    np.testing.assert_array_equal(sound[:end], left[:end])
    np.testing.assert_array_equal(sound[start + shift :], right[start:])


@given(st.integers(-LARGEST_SHIFT, LARGEST_SHIFT), st.integers(0, 100))
def test_the_shift_that_makes_both_equal_is_found(shift: int, seed: int) -> None:
    sound = np.random.default_rng(seed).standard_normal(4_000).astype(np.float32)
    left = sound[1_000 + shift : 1_000 + shift + 2 * HALF_FADE]
    assert best_shift(left, sound[1_000 - LARGEST_SHIFT :]) == shift


@given(st.integers(0, 2_000), st.integers(0, 2_000))
def test_the_quietest_place_is_found(room: int, back: int) -> None:
    back = min(back, room)
    sound = np.ones(room + 2 * HALF_FADE, np.float32)
    sound[room - back : room - back + 2 * HALF_FADE] = 0
    assert quietest(sound, sound, room) == back


def test_equal_sounds_stay_as_they_are_and_independent_ones_keep_their_power() -> None:
    random = np.random.default_rng(0).standard_normal((2, 2 * HALF_FADE)).astype(np.float32)
    np.testing.assert_allclose(crossfade(random[0], random[0]), random[0], rtol=1e-6)
    faded = [
        crossfade(*np.random.default_rng(seed).standard_normal((2, 2 * HALF_FADE)).astype(np.float32))
        for seed in range(200)
    ]
    power = (np.array(faded, np.float64) ** 2).mean(axis=0).reshape(-1, 24).mean(axis=1)
    assert (np.abs(power - 1) < 0.1).all()


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), st.booleans()), min_size=1, max_size=12),
    st.data(),
)
def test_short_parts_join_and_nothing_is_given_out_that_changes(
    excerpts: list[Any], data: st.DataObject
) -> None:
    """Parts of one frame and more, with all kinds of gaps and pauses."""
    random = np.random.default_rng(0)
    joiner, given_out, end = Joiner(), 0, 0
    for index, (frames, gap, paused) in enumerate(excerpts):
        last = index == len(excerpts) - 1
        start = 600 if index else 0
        size = start + 600 * frames + (0 if last else 600)
        sound = random.standard_normal(size).astype(np.float32)
        excerpt = Excerpt(
            sound, start, size if last else size - 600, 0, 600 * min(gap, frames), 300 if paused else 0
        )
        position = joiner.add(excerpt)
        end = position + excerpt.end
        samples = joiner.take(last=last)
        given_out += len(samples)
        assert given_out <= max(end, 0) and np.isfinite(samples).all()
    assert given_out == end


def test_silence_is_found_at_both_ends() -> None:
    sound = np.concatenate([np.zeros(5_000), voice(0.5, 150, 0.0), np.zeros(7_000)]).astype(np.float32)
    found = levels(sound)
    begin, end = find_speech(found, found.max()) or (0, 0)
    assert 5_000 - 240 <= begin <= 5_000
    assert 17_000 <= end <= 17_000 + 240
    # Beside something far louder it is silence.
    assert find_speech(found, 200 * found.max()) is None
    assert find_speech(levels(np.zeros(1_000, np.float32)), 0.0) is None
    assert find_speech(levels(np.zeros(0, np.float32)), 0.0) is None
    assert find_speech(levels(sound[5_000:16_900]), 0.0) == (0, 12_000)
