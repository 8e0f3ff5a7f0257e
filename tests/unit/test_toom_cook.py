"""The Toom-Cook transforms in exact arithmetic."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from exporter.kernels.toom_cook import (
    OUTPUTS,
    POINTS,
    TAPS,
    filter_transform,
    input_transform,
    output_transform,
)

rationals = st.fractions(-100, 100, max_denominator=50)
SAMPLES = st.lists(rationals, min_size=POINTS, max_size=POINTS)
FILTER = st.lists(rationals, min_size=TAPS, max_size=TAPS)
Exact = NDArray[np.object_]


def exact(matrix: NDArray[np.float64]) -> Exact:
    """The fractions that the float64 entries stand for; all have small denominators."""
    fractions = [[Fraction(value).limit_denominator(1000) for value in row] for row in matrix.tolist()]
    return np.array(fractions, dtype=object)


@given(samples=SAMPLES, taps=FILTER)
def test_transforms_compute_the_convolution(samples: list[Fraction], taps: list[Fraction]) -> None:
    transformed = (exact(filter_transform()) @ taps) * (exact(input_transform()) @ samples)
    convolution = [sum(samples[i + k] * taps[k] for k in range(TAPS)) for i in range(OUTPUTS)]
    assert (exact(output_transform()) @ transformed).tolist() == convolution


def test_entries_are_the_fractions_rounded_once() -> None:
    for matrix in (filter_transform(), input_transform(), output_transform()):
        np.testing.assert_array_equal(exact(matrix).astype(np.float64), matrix)


def test_the_transforms_that_run_on_samples_are_exact_in_float32() -> None:
    for matrix in (input_transform(), output_transform()):
        np.testing.assert_array_equal(matrix.astype(np.float32), matrix)


def test_as_many_points_as_a_filter_and_its_outputs_need() -> None:
    assert POINTS == OUTPUTS + TAPS - 1
    assert output_transform().shape == (OUTPUTS, POINTS)
    assert filter_transform().shape == (POINTS, TAPS)
    assert input_transform().shape == (POINTS, POINTS)
    assert np.linalg.matrix_rank(input_transform()) == POINTS
