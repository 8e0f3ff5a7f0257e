"""The model reacts: another token, voice or speed changes durations, F0 and audio."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from runtime_min import Bundle
from runtime_min.model.chain import Trace
from runtime_min.model.distances import relative_rms
from tests.support.utterances import BROWN_FOX

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def plain(bundle: Bundle) -> Trace:
    return bundle.trace(BROWN_FOX)


CHANGES = {
    "one token": {"phonemes": BROWN_FOX.replace("fˈɑks", "fˈɪks")},
    "the voice": {"voice": "am_michael"},
    "the speed": {"speed": 1.25},
}


def distance(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Relative RMS over the length that both have."""
    length = min(one.size, other.size)
    return relative_rms(one[0, :length], other[0, :length])


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_said_how_and_how_fast_changes_durations_f0_and_audio(
    bundle: Bundle, plain: Trace, change: dict[str, str | float]
) -> None:
    changed = bundle.trace(**{"phonemes": BROWN_FOX, **change})  # type: ignore[arg-type]
    assert (changed.durations != plain.durations).any()
    assert distance(changed.f0, plain.f0) > 0.01
    assert distance(changed.audio, plain.audio) > 0.1


def test_twice_the_speed_takes_about_half_of_the_time(bundle: Bundle, plain: Trace) -> None:
    fast = bundle.trace(BROWN_FOX, speed=2.0)
    assert 0.4 < fast.durations.sum() / plain.durations.sum() < 0.65


def test_another_seed_of_the_noise_changes_the_audio_by_9_percent(bundle: Bundle, plain: Trace) -> None:
    distances = [relative_rms(bundle.trace(BROWN_FOX, seed=seed).audio, plain.audio) for seed in range(1, 7)]
    assert 0.085 < float(np.mean(distances)) < 0.095


def test_the_same_seed_gives_the_same_bits(bundle: Bundle, plain: Trace) -> None:
    assert bundle.trace(BROWN_FOX).audio.tobytes() == plain.audio.tobytes()


def test_the_audio_is_as_loud_as_speech_and_does_not_clip(plain: Trace) -> None:
    assert 0.04 < float(np.sqrt(np.square(plain.audio).mean())) < 0.08
    assert np.abs(plain.audio).max() < 1
