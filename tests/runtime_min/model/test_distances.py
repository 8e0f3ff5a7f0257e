"""The measures of distance and their verdicts, on made-up values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from runtime_min.model.distances import (
    Figure,
    level_difference,
    log_mel,
    log_mel_distance,
    relative_maximum,
    snr,
    spectrum_snr,
    turned_phases,
)

RATE = 24_000
finite = st.floats(-1e6, 1e6)


def noise(size: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((1, size), np.float32)


@given(level=st.floats(-60, 120))
def test_the_ratio_is_that_of_the_powers(level: float) -> None:
    reference = noise(1000).astype(np.float64)
    added = noise(1000, seed=1).astype(np.float64)
    added *= 10 ** (-level / 20) * np.sqrt(np.mean(reference**2) / np.mean(added**2))
    assert snr(reference + added, reference) == pytest.approx(level, abs=1e-3)


def test_equal_signals_have_an_infinite_ratio() -> None:
    assert snr(noise(10), noise(10)) == math.inf


@given(place=st.integers(0, 99), size=st.floats(1e-3, 1e3))
def test_the_greatest_difference_is_found_wherever_it_is(place: int, size: float) -> None:
    reference = noise(100)
    values = reference.astype(np.float64)
    values[0, place] += size
    rms = math.sqrt(np.mean(reference.astype(np.float64) ** 2))
    assert relative_maximum(values, reference) == pytest.approx(size / rms, rel=1e-6)


@pytest.mark.parametrize("measure", [snr, relative_maximum])
def test_a_value_that_is_not_a_number_gives_none(measure: type[snr]) -> None:
    values = noise(10)
    values[0, 3] = np.nan
    assert math.isnan(measure(values, noise(10)))


@given(scale=st.floats(0.1, 10))
def test_a_louder_signal_moves_the_log_mel_spectrum_as_a_whole(scale: float) -> None:
    audio = noise(RATE // 4)
    difference = log_mel(audio * np.float32(scale)) - log_mel(audio)
    np.testing.assert_allclose(difference, 2 * math.log(scale), atol=1e-4)


@given(decibels=st.floats(-40, 40))
def test_the_level_difference_is_that_of_the_powers(decibels: float) -> None:
    louder = noise(1000) * np.float32(10 ** (decibels / 20))
    assert level_difference(louder, noise(1000)) == pytest.approx(abs(decibels), abs=1e-4)


def test_silence_differs_from_sound_without_bound_and_not_from_silence() -> None:
    silence = np.zeros((1, 10), np.float32)
    assert level_difference(silence, noise(10)) == math.inf
    assert level_difference(noise(10), silence) == math.inf
    assert level_difference(silence, silence) == 0


@pytest.mark.parametrize("frequency", [200, 1000, 4000, 9000])
def test_a_tone_is_loudest_in_the_band_around_it(frequency: int) -> None:
    audio = np.sin(2 * np.pi * frequency * np.arange(RATE // 2) / RATE)[None].astype(np.float32)
    centres = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + RATE / 2 / 700), 82)[1:-1] / 2595) - 1)
    loudest = centres[log_mel(audio)[5:-5].mean(axis=0).argmax()]
    assert abs(loudest - frequency) <= np.abs(np.diff(centres))[np.abs(centres[1:] - frequency).argmin()]


def test_silence_has_a_finite_log_mel_spectrum() -> None:
    np.testing.assert_allclose(log_mel(np.zeros((1, 3000), np.float32)), math.log(1e-8))


def test_the_log_mel_distance_is_zero_only_between_equal_signals() -> None:
    assert log_mel_distance(noise(5000), noise(5000)) == 0
    assert log_mel_distance(noise(5000), noise(5000, seed=1)) > 0.1


@given(value=finite, limit=finite)
def test_a_figure_holds_on_its_side_of_the_limit(value: float, limit: float) -> None:
    assert Figure("figure", value, limit).holds == (value <= limit)
    assert Figure("figure", value, limit, at_least=True).holds == (value >= limit)


@given(limit=finite, at_least=st.booleans())
def test_what_is_not_a_number_never_holds(limit: float, at_least: bool) -> None:
    assert not Figure("figure", math.nan, limit, at_least).holds
    assert not Figure("figure", limit, math.nan, at_least).holds
    assert not Figure("figure", -math.inf, limit, at_least).holds
    assert Figure("figure", math.inf, limit, at_least).holds == at_least


def test_a_missed_figure_says_so() -> None:
    assert str(Figure("decoder, dB", 54.321, 55, at_least=True)) == "decoder, dB: 54.32 (>= 55)  MISSED"
    assert str(Figure("bert", 2e-6, 1e-5)) == "bert: 2e-06 (<= 1e-05)"


# Spectra as magnitudes and phases.


def spectrum(seed: int) -> np.ndarray:
    """Magnitudes and phases of 11 bins, the outer ones real, as the harmonic source's."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((1, 11, 40)) + 1j * random.standard_normal((1, 11, 40))
    values[:, [0, -1]] = values[:, [0, -1]].real
    phase = np.angle(values).astype(np.float32)
    return np.concatenate([np.abs(values).astype(np.float32), phase], axis=1)


@given(seed=st.integers(0, 1000), angle=st.floats(1e-4, 1.0))
def test_a_turn_of_all_phases_is_heard_as_its_angle(seed: int, angle: float) -> None:
    reference = spectrum(seed)
    turned = reference.copy()
    turned[:, 11:] += np.float32(angle)
    assert spectrum_snr(turned, reference) == pytest.approx(-20 * np.log10(2 * np.sin(angle / 2)), abs=0.1)


@given(seed=st.integers(0, 1000), row=st.integers(1, 9), column=st.integers(0, 39))
def test_a_phase_beyond_the_cut_is_counted_though_it_is_the_same_number(
    seed: int, row: int, column: int
) -> None:
    reference = spectrum(seed)
    other = reference.copy()
    other[0, 11 + row, column] -= np.copysign(np.float32(2 * np.pi), other[0, 11 + row, column])
    assert spectrum_snr(other, reference) > 110
    assert turned_phases(reference, reference) == 0
    assert turned_phases(other, reference) == 1


@pytest.mark.parametrize(
    ("row", "phase", "other", "turned"),
    [(16, np.pi, -np.pi, 0), (11, np.pi, -np.pi, 1), (21, np.pi, -np.pi, 1), (15, 1.0, np.nan, 1)],
    ids=["rounding decides next to the cut", "real bin", "last real bin", "not a number"],
)
def test_turned_phases_are_those_that_rounding_does_not_explain(
    row: int, phase: float, other: float, turned: int
) -> None:
    """A real bin never has the phase -pi."""
    one, two = spectrum(0), spectrum(0)
    one[0, row, 7], two[0, row, 7] = phase, other
    assert turned_phases(two, one) == turned
