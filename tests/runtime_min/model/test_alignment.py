"""Rounding and repeating, held against what kokoro does with torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runtime_min.engine.vm import aligned
from runtime_min.errors import ModelOutputError, TensorInputError, UtteranceTooLongError
from runtime_min.model.alignment import align, fitted_speed, round_durations
from runtime_min.model.chain import _check_frames
from runtime_min.speech.request import HIGHEST_SPEED, LOWEST_SPEED

PREDICTIONS = arrays(
    np.float32, st.tuples(st.just(1), st.integers(3, 60)), elements=st.floats(0, 50, width=32)
)
# Multiples of a quarter: many predictions are exact halves after the division.
HALVES = arrays(np.float32, (1, 30), elements=st.integers(0, 200).map(lambda quarters: quarters / 4))
SPEEDS = st.floats(LOWEST_SPEED, HIGHEST_SPEED) | st.sampled_from([0.5, 1.0, 1.3, 2.0])


@given(PREDICTIONS | HALVES, SPEEDS)
def test_durations_are_those_of_kokoro(predicted: np.ndarray, speed: float) -> None:
    kokoro = torch.round(torch.from_numpy(predicted) / speed).clamp(min=1).long()[0]
    np.testing.assert_array_equal(round_durations(predicted, speed), kokoro.numpy())


@given(st.data(), st.integers(1, 5), st.integers(3, 12))
def test_alignment_is_kokoros_matrix_product(data: st.DataObject, channels: int, tokens: int) -> None:
    durations = np.array(data.draw(st.lists(st.integers(1, 9), min_size=tokens, max_size=tokens)))
    features = np.random.default_rng(0).standard_normal((1, channels, tokens)).astype(np.float32)
    indices = torch.repeat_interleave(torch.arange(tokens), torch.from_numpy(durations))
    matrix = torch.zeros((tokens, len(indices)))
    matrix[indices, torch.arange(len(indices))] = 1
    product = torch.from_numpy(features) @ matrix
    found = align(features, durations)
    np.testing.assert_array_equal(found, product.numpy())
    assert aligned(found) is found


@given(PREDICTIONS, SPEEDS, SPEEDS)
def test_faster_speech_is_never_longer(predicted: np.ndarray, one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    assert (round_durations(predicted, fast) <= round_durations(predicted, slow)).all()


@given(arrays(np.float32, (1, 80), elements=st.floats(1.5, 12, width=32)), st.floats(0.6, 1.1))
def test_a_fitted_speed_means_its_length_to_one_in_a_hundred(predicted: np.ndarray, speed: float) -> None:
    # Predictions of the model hardly ever are equal to the last bit; those of hypothesis like to be.
    predicted = predicted * np.linspace(1, 1.1, 80, dtype=np.float32)
    wanted = round_durations(predicted, 1.0).sum() / speed
    found = round_durations(predicted, fitted_speed(predicted, speed)).sum()
    assert wanted * 0.99 - 1 < found <= wanted


@given(PREDICTIONS)
def test_a_fitted_speed_leaves_speed_1_to_kokoro(predicted: np.ndarray) -> None:
    assert fitted_speed(predicted, 1.0) == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_durations_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ModelOutputError, match="not finite"):
        round_durations(np.array([[1, bad, 2]], np.float32), 1.0)


@pytest.mark.parametrize("speed", [LOWEST_SPEED, 1.0, HIGHEST_SPEED])
def test_durations_that_no_integer_holds_stay_long(speed: float) -> None:
    damaged = np.array([[3e38, 1e19, 1e30, -3e38]], np.float32)
    assert (round_durations(damaged, speed)[:3] > 1 << 20).all()
    assert round_durations(np.repeat(damaged, 500, axis=1), speed).sum() > 1 << 20


@given(
    arrays(np.int64, 5, elements=st.integers(-(2**63), 2**63 - 1) | st.sampled_from([1, 2**62, 2**63 - 1]))
)
def test_durations_of_any_size_fit_or_are_refused_by_type(durations: np.ndarray) -> None:
    runner: Any = SimpleNamespace(buckets=(40, 100), stage=SimpleNamespace(axis="frames"))
    expected = sum(map(int, durations))
    try:
        _check_frames({"decoder": runner}, durations, 5)
        assert expected <= 100
    except UtteranceTooLongError as error:
        assert error.frames == expected > 100
    except TensorInputError:
        assert durations.min() < 1
