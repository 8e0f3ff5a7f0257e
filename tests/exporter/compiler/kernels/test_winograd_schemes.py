"""The Winograd transforms in float64: those that the kernels use, and any others of a few points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from exporter.compiler.kernels.winograd_schemes import SCHEMES, Matrix, Scheme, opposites

REAL, TURNS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5), (1 / 10, 1 / 6, 1 / 4, 2 / 5)
every_scheme = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=[f"{taps} taps" for taps in SCHEMES])


def transforms_of_samples(scheme: Scheme) -> tuple[Matrix, Matrix]:
    """What runs on values, one row for each: from samples, and from products with a filter."""
    return scheme.analysis, scheme.synthesis.T


def convolve(scheme: Scheme, samples: NDArray[np.float64], taps: NDArray[np.float64]) -> NDArray[np.float64]:
    products = (scheme.filter_transform @ taps) * (scheme.spread @ scheme.analysis @ samples)
    result: NDArray[np.float64] = scheme.synthesis @ scheme.gather @ products
    return result


def assert_convolves(scheme: Scheme, data: st.DataObject) -> None:
    """Relative to the largest samples and taps: float64's digits, less four for the points' powers."""
    numbers = st.floats(-1, 1, width=32)
    samples = data.draw(arrays(np.float64, scheme.samples, elements=numbers))
    taps = data.draw(arrays(np.float64, scheme.taps, elements=numbers))
    error = np.abs(convolve(scheme, samples, taps) - np.correlate(samples, taps, "valid")).max()
    assert error <= 1e-12 * np.linalg.norm(samples) * np.linalg.norm(taps)


@st.composite
def schemes(draw: st.DrawFn) -> Scheme:
    """Any choice of points, for any of the filters that they suffice for."""
    real = draw(st.lists(st.sampled_from(REAL), unique=True, min_size=2))
    turns = draw(st.lists(st.sampled_from(TURNS), unique=True))
    samples = len(real) + 1 + 2 * len(turns)
    taps = draw(st.integers(1, samples))
    return Scheme(samples - taps + 1, taps, tuple(real), tuple(turns))


@every_scheme
@given(data=st.data())
def test_transforms_compute_the_convolution(scheme: Scheme, data: st.DataObject) -> None:
    assert_convolves(scheme, data)


@given(scheme=schemes(), data=st.data())
def test_any_points_compute_the_convolution(scheme: Scheme, data: st.DataObject) -> None:
    assert_convolves(scheme, data)


@every_scheme
def test_a_transform_has_as_many_points_as_a_filter_and_its_outputs_need(scheme: Scheme) -> None:
    values = len(scheme.real) + 1 + 2 * len(scheme.turns)
    assert scheme.samples == scheme.outputs + scheme.taps - 1 == values
    assert scheme.products == values + len(scheme.turns)
    assert scheme.products <= 0.6 * scheme.outputs * scheme.taps
    # With two taps a half is what endless transforms would reach.
    assert scheme.taps == 2 or scheme.products < scheme.outputs * scheme.taps / 2
    assert np.linalg.matrix_rank(scheme.analysis) == values
    assert all(0 < turn < 1 / 2 for turn in scheme.turns)


@every_scheme
def test_what_should_be_zero_is_zero_and_costs_nothing(scheme: Scheme) -> None:
    for matrix in (*transforms_of_samples(scheme), scheme.filter_transform):
        entries = np.abs(matrix[matrix != 0])
        assert entries.min() >= 1e-9 * entries.max()


@every_scheme
def test_all_but_complex_points_are_exact_in_float32(scheme: Scheme) -> None:
    count = len(scheme.real) + 1
    matrices = scheme.spread, scheme.gather, scheme.synthesis[:, :count]
    for matrix in matrices if scheme.turns else (*matrices, scheme.analysis):
        np.testing.assert_array_equal(matrix.astype(np.float32), matrix)


def assert_groups_reproduce(rows: Matrix) -> None:
    """Every row is in one group, and the second of a group follows from the first."""
    alternating = (-1.0) ** np.arange(rows.shape[1])
    found = opposites(rows)
    assert sorted(row for first, second, _ in found for row in (first, second) if row is not None) == [
        *range(len(rows))
    ]
    for first, second, sign in found:
        if second is None:
            assert sign == 1
        else:
            np.testing.assert_allclose(rows[second], sign * alternating * rows[first], rtol=1e-9, atol=1e-9)


@given(scheme=schemes())
def test_opposite_points_reproduce_each_others_rows(scheme: Scheme) -> None:
    for rows in transforms_of_samples(scheme):
        assert_groups_reproduce(rows)


@every_scheme
def test_opposite_points_share_their_sums(scheme: Scheme) -> None:
    values = [*scheme.real, np.inf]
    for turn in scheme.turns:
        values += [np.cos(2 * np.pi * turn), np.sin(2 * np.pi * turn)]
    for rows in transforms_of_samples(scheme):
        assert_groups_reproduce(rows)
        pairs = [(first, second) for first, second, _ in opposites(rows) if second is not None]
        # 1, 2 and 1/2 with their negatives, and so on; of complex points x + iy, both parts with -x + iy's.
        assert all(np.isclose(abs(values[first]), abs(values[second])) for first, second in pairs)
        assert len(pairs) == len(scheme.real) // 2 + 2 * (len(scheme.turns) // 2)


@given(
    rows=arrays(np.float64, (3, 4), elements=st.sampled_from([-2.0, -1.0, 0.5, 1.0])),
    sign=st.sampled_from([1.0, -1.0]),
)
def test_an_alternating_row_is_found_with_its_sign(rows: Matrix, sign: float) -> None:
    partner = sign * rows[0] * [1, -1, 1, -1]
    assert (0, 1, int(sign)) in opposites(np.stack([rows[0], partner, *rows[1:]]))
