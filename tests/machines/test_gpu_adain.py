"""The GPU's statistics of adaptive instance normalisation against float64, on the stand-in."""

import numpy as np
import pytest

from exporter.compiler.kernels.gpu import adain
from tests.exporter.compiler.kernels.test_adain import (
    EPSILON,
    KERNELS,
    STATISTICS,
    STYLE,
    assert_only_rounding_is_lost,
    every_order,
    exact,
    random_arguments,
)
from tests.support.kernels.on_cpu import Array
from tests.support.kernels.on_gpu import Gpu, every_device

pytestmark = pytest.mark.machines

MAKE = {"channels first": adain.adain_affine, "channels last": adain.adain_affine_channels_last}
# Around the threads of the one kernel, the segments of the other and the rows of a segment.
LENGTHS = [1, 2, 3, 127, 128, 129, 255, 256, 257, 1023, 1025, 20_001]


def run(gpu: Gpu, device: str, order: str, x: Array, *others: Array) -> Array:
    """The kernel's result for an input with the channels first."""
    channels = KERNELS[order][1]
    x = x if order == "channels first" else np.ascontiguousarray(x.swapaxes(1, 2))
    sizes = channels, STYLE, EPSILON, "float32", len(others) > STATISTICS
    return gpu.call(device, (3, channels), (x, *others), MAKE[order], *sizes)


@every_device
@every_order
@pytest.mark.parametrize(("mean", "deviation"), [(0.5, 1), (1000, 1), (-3e4, 0.1), (1e-3, 1e-4), (0, 0)])
def test_a_large_mean_costs_only_its_own_digits(
    device: str, order: str, mean: float, deviation: float, gpu: Gpu
) -> None:
    for length in LENGTHS:
        arguments = random_arguments(order, length, mean, deviation)
        assert_only_rounding_is_lost(run(gpu, device, order, *arguments), arguments)


@every_order
def test_minutes_of_samples_lose_no_more_than_a_few(order: str, gpu: Gpu) -> None:
    arguments = random_arguments(order, 200_003, 1000)
    assert_only_rounding_is_lost(run(gpu, "cuda", order, *arguments), arguments)


@every_device
@every_order
def test_a_level_that_changes_with_time_is_in_the_variance(device: str, order: str, gpu: Gpu) -> None:
    x, *others = random_arguments(order, 5000)
    arguments = (x + np.linspace(-50, 400, 5000, dtype=np.float32) ** 2 / 1000, *others)
    assert_only_rounding_is_lost(run(gpu, device, order, *arguments), arguments)


@every_order
@pytest.mark.parametrize("length", [3, 1000])
def test_the_same_input_gives_the_same_bits(order: str, length: int, gpu: Gpu) -> None:
    arguments = random_arguments(order, length)
    assert len({run(gpu, "cuda", order, *arguments).tobytes() for _ in range(3)}) == 1


@every_device
@every_order
def test_given_statistics_take_the_place_of_those_of_the_input(device: str, order: str, gpu: Gpu) -> None:
    arguments, longer = random_arguments(order, 300), random_arguments(order, 1000, mean=3)
    others = np.stack([longer[0][0].mean(axis=1), longer[0][0].var(axis=1)])
    expected, _ = exact((longer[0], *arguments[1:]))
    affine = run(gpu, device, order, *arguments, others)
    np.testing.assert_allclose(affine, expected, rtol=1e-5, atol=1e-6)
    none = np.stack([others[0], -np.ones_like(others[1])])
    own = run(gpu, device, order, *arguments)
    np.testing.assert_array_equal(run(gpu, device, order, *arguments, none), own)


def test_channels_that_a_row_of_threads_does_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="48 channels are not a multiple of 32"):
        adain.adain_affine_channels_last(48, STYLE, EPSILON)
