"""The Toom-Cook transforms in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from exporter.kernels.toom_cook import SCHEMES, Scheme

rationals = st.fractions(-100, 100, max_denominator=50)
Exact = NDArray[np.object_]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=[f"{taps} taps" for taps in SCHEMES])


def matrices(scheme: Scheme) -> tuple[NDArray[np.float64], ...]:
    return scheme.filter_transform, scheme.input_transform, scheme.output_transform


def exact(matrix: NDArray[np.float64]) -> Exact:
    """The fractions that the float64 entries stand for; all have small denominators."""
    fractions = [[Fraction(value).limit_denominator(10**8) for value in row] for row in matrix.tolist()]
    return np.array(fractions, dtype=object)


@every_scheme
@given(data=st.data())
def test_transforms_compute_the_convolution(scheme: Scheme, data: st.DataObject) -> None:
    samples = data.draw(st.lists(rationals, min_size=scheme.points, max_size=scheme.points))
    taps = data.draw(st.lists(rationals, min_size=scheme.taps, max_size=scheme.taps))
    of_filter, of_input, of_output = map(exact, matrices(scheme))
    transformed = (of_filter @ taps) * (of_input @ samples)
    convolution = [sum(samples[i + k] * taps[k] for k in range(scheme.taps)) for i in range(scheme.outputs)]
    assert (of_output @ transformed).tolist() == convolution


@every_scheme
def test_entries_are_the_fractions_rounded_once(scheme: Scheme) -> None:
    for matrix in matrices(scheme):
        np.testing.assert_array_equal(exact(matrix).astype(np.float64), matrix)


@every_scheme
def test_the_transforms_that_run_on_samples_are_exact_in_float32(scheme: Scheme) -> None:
    for matrix in (scheme.input_transform, scheme.output_transform):
        np.testing.assert_array_equal(matrix.astype(np.float32), matrix)


@every_scheme
def test_as_many_points_as_a_filter_and_its_outputs_need(scheme: Scheme) -> None:
    assert scheme.points == scheme.outputs + scheme.taps - 1 == len(scheme.finite) + 1
    assert scheme.output_transform.shape == (scheme.outputs, scheme.points)
    assert scheme.filter_transform.shape == (scheme.points, scheme.taps)
    assert np.linalg.matrix_rank(scheme.input_transform) == scheme.points


@every_scheme
def test_pairs_hold_every_point_once_and_opposite_ones_together(scheme: Scheme) -> None:
    assert [point for pair in scheme.pairs for point in pair] == list(range(scheme.points))
    for pair in scheme.pairs:
        assert len(pair) == 1 or sum(scheme.finite[point] for point in pair) == 0
    paired = {abs(scheme.finite[pair[0]]) for pair in scheme.pairs if len(pair) == 2}
    alone = {abs(scheme.finite[pair[0]]) for pair in scheme.pairs[:-1] if len(pair) == 1}
    assert not paired & alone


@pytest.mark.parametrize("taps", SCHEMES)
def test_groups_of_taps_can_share_the_transform_of_the_input(taps: int) -> None:
    scheme = SCHEMES[taps]
    assert scheme.groups(taps) * scheme.taps >= taps
    assert scheme.groups(taps) == 1 or scheme.taps == scheme.outputs
    # Samples of a transform lie in a column and the one after it.
    assert scheme.points <= 2 * scheme.outputs
