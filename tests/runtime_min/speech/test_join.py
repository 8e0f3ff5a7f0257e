"""Two renderings meet without a step, a dip or a click, wherever their phases stand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.speech import join
from runtime_min.speech.join import HALF_FADE, LARGEST_SHIFT, Joiner, Part, best_shift, crossfade, quietest
from runtime_min.speech.silence import find_speech

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
    """Two renderings, where they met, and how that compares with the sound before and after."""

    sound: np.ndarray
    shift: int
    step: float
    """The largest step in the crossfade over the largest elsewhere."""
    dip: float
    """By how many dB 50 ms differ at most from both renderings."""
    flux: float
    """The largest spectral flux around the crossfade over the 99th percentile elsewhere."""


def joined(left: np.ndarray, right: np.ndarray, border: int, gap: int = 0) -> Joined:
    """Joins `left` up to about `border` with `right` from there on."""
    met: list[np.ndarray] = []
    fade = join.crossfade
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "crossfade", lambda one, two: met.append(one) or fade(one, two))
        joiner = Joiner(trim=False)
        joiner.add(Part(left, 0, border, 0, gap))
        first = joiner.take()
        shift = joiner.add(Part(right, border, len(right), gap, 0))
    sound = np.concatenate([first, joiner.take(last=True)])
    begin = next(
        at for at in range(len(first), border) if np.array_equal(left[at : at + 2 * HALF_FADE], met[0])
    )
    steps, frames = np.abs(np.diff(sound)), flux(sound)
    inner = slice(begin, begin + 2 * HALF_FADE)
    around = slice(begin // 120 - 4, begin // 120 + 5)
    return Joined(
        sound,
        shift,
        steps[inner].max() / np.delete(steps, inner).max(),
        largest_dip(sound, left, right, shift),
        frames[around].max() / np.quantile(np.delete(frames, around), 0.99),
    )


def level(sound: np.ndarray) -> float:
    return float(10 * np.log10((sound.astype(np.float64) ** 2).mean()))


def flux(sound: np.ndarray) -> np.ndarray:
    """Spectral flux every 5 ms: how much the magnitudes of 20 ms windows rise."""
    windows = np.lib.stride_tricks.sliding_window_view(sound, 480)[::120] * np.hanning(480)
    magnitudes = np.abs(np.fft.rfft(windows))
    return np.maximum(np.diff(magnitudes, axis=0), 0).sum(axis=1)


def largest_dip(sound: np.ndarray, left: np.ndarray, right: np.ndarray, position: int) -> float:
    """By how many dB 50 ms of the joined sound differ from both renderings at their places."""
    starts = range(1_000, len(left) - 2_400, 120)
    levels = [
        [level(rendering[at : at + 1_200]) for at in range(start, stop, 120)]
        for rendering, start, stop in (
            (sound, starts.start, starts.stop),
            (left, starts.start, starts.stop),
            (right, starts.start - position, starts.stop - position),
        )
    ]
    found, one, two = np.array(levels)
    return float(np.minimum(np.abs(found - one), np.abs(found - two)).max())


VOWEL = RATE * 17 // 16 + 600
"""The middle of a syllable, where all is loud."""
every_phase = pytest.mark.parametrize("phase", [0.0, 1.0, 2.0, np.pi, 4.0, 5.0])
every_voice = pytest.mark.parametrize("f0", [80.0, 123.0, 200.0, 290.0])


@every_phase
@every_voice
@pytest.mark.parametrize("detune", [0.98, 1.0, 1.02])
def test_syllables_meet_without_step_dip_or_click(f0: float, detune: float, phase: float) -> None:
    found = joined(voice(2, f0, 0.0), voice(2, f0 * detune, phase, seed=1), RATE)
    assert abs(found.shift) <= LARGEST_SHIFT
    assert found.step <= 1 and found.dip < 1 and found.flux <= 1


@every_phase
@every_voice
def test_even_a_vowel_goes_on_without_step_dip_or_click(f0: float, phase: float) -> None:
    found = joined(voice(2, f0, 0.0), voice(2, f0, phase, seed=1), VOWEL)
    assert found.step <= 1 and found.dip < 0.5 and found.flux <= 1


def test_without_shift_and_fade_steps_and_clicks_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the tests above see what they look for."""

    def worst() -> np.ndarray:
        left, phases = voice(2, 200.0, 0.0), (1.0, 2.0, 4.0, 5.0)
        found = [joined(left, voice(2, 200.0, phase, seed=1), VOWEL) for phase in phases]
        return np.max([[each.step, each.dip, each.flux] for each in found], axis=0)

    monkeypatch.setattr(join, "best_shift", lambda left, right: 0)
    assert worst()[2] > 1.3
    monkeypatch.setattr(
        join, "crossfade", lambda one, two: np.concatenate([one[:HALF_FADE], two[HALF_FADE:]])
    )
    step, _, rise = worst()
    assert step > 1.1 and rise > 3


@settings(max_examples=30)
@given(F0, st.floats(0, 2 * np.pi), st.integers(-2_000, 0))
def test_pieces_meet_where_both_are_quiet(f0: float, phase: float, late: int) -> None:
    """A pause of 40 ms in the gap before the border, a little apart in both renderings."""
    border = RATE // 2
    left, right = voice(1, f0, 0.0), voice(1, f0, phase, seed=1)
    for sound, at in ((left, border + late - 960), (right, border + late - 1_100)):
        sound[at : at + 960] *= 1e-3
    sound, shift, *_ = joined(left, right, border, 2_400)
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
    parts: list[Any], data: st.DataObject
) -> None:
    """Parts of one frame and more, with all kinds of gaps and pauses."""
    random = np.random.default_rng(0)
    joiner, given_out, end = Joiner(trim=False), 0, 0
    for index, (frames, gap, paused) in enumerate(parts):
        last = index == len(parts) - 1
        start = 600 if index else 0
        size = start + 600 * frames + (0 if last else 600)
        sound = random.standard_normal(size).astype(np.float32)
        part = Part(
            sound, start, size if last else size - 600, 0, 600 * min(gap, frames), 300 if paused else 0
        )
        position = joiner.add(part)
        end = position + part.end
        samples = joiner.take(last=last)
        given_out += len(samples)
        assert given_out <= max(end, 0) and np.isfinite(samples).all()
    assert given_out == end


def test_silence_is_found_at_both_ends() -> None:
    sound = np.concatenate([np.zeros(5_000), voice(0.5, 150, 0.0), np.zeros(7_000)]).astype(np.float32)
    begin, end = find_speech(sound)
    assert 5_000 - 3 * 240 <= begin <= 5_000 - 240
    assert 17_000 + 240 <= end <= 17_000 + 3 * 240
    assert find_speech(np.zeros(1_000, np.float32)) == (0, 1_000)
    assert find_speech(np.zeros(0, np.float32)) == (0, 0)
    assert find_speech(sound[5_000:17_000]) == (0, 12_000)
