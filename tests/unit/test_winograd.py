"""The Toom-Cook convolution kernel against torch's in float64, on each CPU level of this machine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.kernels import winograd
from exporter.kernels.conv1d import Convolution
from exporter.kernels.tiles import CHANNEL_BLOCK
from exporter.kernels.toom_cook import SCHEMES
from tests.unit.kernel_testing import (
    LEVELS,
    TILES,
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    build,
    call,
    every_level,
    relative_error,
)
from tests.unit.test_conv1d import random_arguments, torch_convolution


def convolution(
    taps: int, dilation: int, channels: int = 16, residuals: int = 0, scale: float = 1.0
) -> Convolution:
    padding = dilation * (taps - 1) // 2
    return Convolution(16, channels, taps, dilation, padding, "adain_snake", residuals=residuals, scale=scale)


# The generator's kernels and dilations, each with one of its three ways to end.
SPECS = {
    f"{taps} taps, dilation {dilation}": convolution(taps, dilation, residuals=residuals, scale=scale)
    for taps in (3, 7, 11)
    for dilation, residuals, scale in ((1, 0, 1.0), (3, 1, 1.0), (5, 2, 1 / 3))
}
SPECS["narrow tiles"] = convolution(3, 1, channels=129)
# Measured are 6.2e-6, 3.2e-5 and 2.1e-5; `conv1d` has 1e-6. More points save more products and add and
# subtract samples that are larger beside their result.
LIMITS = {3: 1e-5, 7: 5e-5, 11: 5e-5}
every_spec = pytest.mark.parametrize("name", SPECS)


def span_of(spec: Convolution) -> int:
    """Time steps of a job."""
    return SCHEMES[spec.taps].outputs * spec.dilation * winograd.tile_columns(spec)


def boundaries(spec: Convolution) -> list[int]:
    """The shortest lengths, and those around edges of transforms, of jobs and of where jobs share tiles."""
    span = span_of(spec)
    return [3, 4, 5, 7, 16, 17, span - 1, span, span + 1, 4 * span - 1, 4 * span, 4 * span + 1, 5 * span + 3]


def run(spec: Convolution, level: str, *arguments: Array) -> Array:
    x, weight, *others = arguments
    kernel = build(level, winograd.convolution, spec, TILES[level])
    return call(kernel, (1, spec.out_channels, x.shape[2]), x, winograd.pack_weight(weight), *others)


@every_level
@every_spec
def test_result_is_that_of_torch_at_every_boundary(level: str, name: str) -> None:
    spec = SPECS[name]
    for length in boundaries(spec):
        arguments = random_arguments(spec, length)
        expected = torch_convolution(spec, *arguments)
        assert relative_error(run(spec, level, *arguments), expected) <= LIMITS[spec.taps], length


@every_level
@settings(max_examples=20)
@given(name=st.sampled_from(list(SPECS)), length=st.integers(3, 1500), seed=st.integers(0, 99))
def test_result_is_that_of_torch_at_any_length(level: str, name: str, length: int, seed: int) -> None:
    arguments = random_arguments(SPECS[name], length, seed)
    expected = torch_convolution(SPECS[name], *arguments)
    assert relative_error(run(SPECS[name], level, *arguments), expected) <= LIMITS[SPECS[name].taps]


@every_level
@pytest.mark.parametrize(("taps", "limit"), [(3, 1e-6), (7, 6e-6), (11, 6e-6)])
def test_as_many_products_as_the_generator_sums_stay_five_digits_exact(
    level: str, taps: int, limit: float
) -> None:
    # Measured are 8.2e-7, 5.0e-6 and 4.7e-6 RMS, and up to 12 times that at the worst.
    spec = convolution(taps, 1, channels=256)
    arguments = random_arguments(spec, 700)
    expected = torch_convolution(spec, *arguments)
    values = run(spec, level, *arguments)
    assert relative_error(values, expected) <= 15 * limit
    assert np.sqrt(np.mean((values - expected) ** 2) / np.mean(expected**2)) <= limit


@every_spec
def test_every_level_gives_the_same_bits(name: str) -> None:
    for length in (3, 100, 700):
        arguments = random_arguments(SPECS[name], length)
        results = {run(SPECS[name], level, *arguments).tobytes() for level in LEVELS}
        assert len(results) == 1, length


@every_level
@every_spec
def test_jobs_that_share_a_tile_give_the_bits_of_jobs_that_do_not(level: str, name: str) -> None:
    spec, span = SPECS[name], span_of(SPECS[name])
    x, *weights, residual, other = random_arguments(spec, 4 * span + 1)
    whole = run(spec, level, x, *weights, residual, other)
    length = 2 * span + 5
    shorter = (np.ascontiguousarray(value[..., :length]) for value in (x, residual, other))
    beginning, *addends = shorter
    part = run(spec, level, beginning, *weights, *addends)
    # A transform rounds with all its samples: outputs of those that reach past the end may differ.
    same = length - spec.padding - 2 * SCHEMES[spec.taps].outputs * spec.dilation
    np.testing.assert_array_equal(part[:, :, :same], whole[:, :, :same])


@every_level
@every_spec
def test_nothing_is_left_in_workspaces(level: str, name: str) -> None:
    for length in (3, 100, 4 * span_of(SPECS[name]) + 1):
        assert_nothing_is_left_in_workspaces(
            lambda *arguments: run(SPECS[name], level, *arguments), *random_arguments(SPECS[name], length)
        )


@pytest.mark.parametrize("name", ["3 taps, dilation 5", "11 taps, dilation 1"])
@pytest.mark.parametrize("spans", [2, 5])
def test_number_of_threads_changes_no_bit(name: str, spans: int) -> None:
    arguments = random_arguments(SPECS[name], spans * span_of(SPECS[name]))
    assert_threads_change_no_bit(lambda: run(SPECS[name], LEVELS[-1], *arguments))


@given(blocks=st.integers(1, 3), channels=st.integers(1, 5), taps=st.sampled_from(list(SCHEMES)))
def test_packing_transforms_a_group_of_taps_at_a_time(blocks: int, channels: int, taps: int) -> None:
    scheme = SCHEMES[taps]
    out, groups = blocks * CHANNEL_BLOCK, scheme.groups(taps)
    weight = np.random.default_rng(taps).standard_normal((out, channels, taps), np.float32)
    packed = winograd.pack_weight(weight)
    assert packed.shape == (blocks, scheme.points, channels, groups, CHANNEL_BLOCK)
    rows = packed.transpose(0, 4, 2, 3, 1).reshape(out, channels, groups, scheme.points)
    padded = np.zeros((out, channels, groups * scheme.taps))
    padded[:, :, :taps] = weight
    expected = padded.reshape(out, channels, groups, scheme.taps) @ scheme.filter_transform.T
    np.testing.assert_array_equal(rows, expected.astype(np.float32))


@pytest.mark.parametrize("padding", [0, 2])
def test_convolutions_that_change_the_length_are_refused(padding: int) -> None:
    with pytest.raises(ValueError, match="keeps the length"):
        winograd.convolution(Convolution(16, 16, 3, padding=padding), TILES[LEVELS[0]])
