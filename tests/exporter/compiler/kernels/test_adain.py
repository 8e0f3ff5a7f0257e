"""The statistics of adaptive instance normalisation against float64, on each CPU level of this machine."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kokoro.istftnet import AdaIN1d
from numpy.typing import NDArray

from exporter.compiler.kernels import adain
from tests.support.kernels import on_cpu
from tests.support.kernels.on_cpu import (
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    relative_error,
)

Exact = NDArray[np.float64]
STYLE, EPSILON = 64, 1e-5
KERNELS = {
    "channels first": (adain.adain_affine, 5),
    "channels last": (adain.adain_affine_channels_last, 64),
}
"""By the input's order of axes: the kernel, and how many channels the tests have of it."""
# Measured are 7e-7 of 5 channels and 2.0e-6 of 64, these in either order: there are more, and larger styles.
LIMITS = {"channels first": 1e-6, "channels last": 2.6e-6}
STATISTICS = 5
"""Place of given statistics among the arguments behind the input."""
every_order = pytest.mark.parametrize("order", KERNELS)
# Around the vectors of the one kernel, the segments of the other, and the blocks of 64 steps in 32 segments.
LENGTHS = [2, 3, 31, 32, 33, 64, 65, 1000, 2047, 2048, 2049, 20_001]
every_length = pytest.mark.parametrize("length", LENGTHS)


def random_arguments(order: str, length: int, mean: float = 0.5, deviation: float = 1.0) -> tuple[Array, ...]:
    """Input, channels first; style, weight and bias of the linear layer, weight and bias of the norm."""
    random, (_, channels) = np.random.default_rng([length, STYLE]), KERNELS[order]
    x, style, fc_weight, fc_bias, weight, bias = (
        random.standard_normal(shape, np.float32)
        for shape in (
            (1, channels, length),
            (1, STYLE),
            (2 * channels, STYLE),
            2 * channels,
            channels,
            channels,
        )
    )
    x = x * np.float32(deviation) + np.float32(mean)
    return x, style, fc_weight / np.float32(STYLE**0.5), fc_bias, 1 + weight / 4, bias


def run(order: str, x: Array, *others: Array) -> Array:
    """The kernel's result for an input with the channels first."""
    make, channels = KERNELS[order][0], x.shape[1]
    x = x if order == "channels first" else np.ascontiguousarray(x.swapaxes(1, 2))
    sizes = channels, STYLE, EPSILON, others[1].dtype.name, len(others) > STATISTICS
    return on_cpu.run(make, sizes, (3, channels), x, *others)


def exact(arguments: tuple[Array, ...]) -> tuple[Exact, Exact]:
    """Mean, scale and shift of each channel, [3, channels], and standard deviations, all in float64."""
    x, style, fc_weight, fc_bias, weight, bias = (value.astype(np.float64) for value in arguments)
    gamma, beta = np.split(fc_weight @ style[0] + fc_bias, 2)
    deviation = np.sqrt(x[0].var(axis=1) + EPSILON)
    affine = [x[0].mean(axis=1), (1 + gamma) * weight / deviation, (1 + gamma) * bias + beta]
    return np.stack(affine), deviation


@every_order
@every_length
@pytest.mark.parametrize("stored", ["float32", "float16"])
def test_the_map_is_kokoros_adain(order: str, length: int, stored: str) -> None:
    x, style, fc_weight, *others = random_arguments(order, length)
    weights = fc_weight.astype(stored), *others
    arguments = x, style, *weights
    module = AdaIN1d(STYLE, x.shape[1]).double().eval()
    parameters = module.fc.weight, module.fc.bias, module.norm.weight, module.norm.bias
    with torch.no_grad():
        for parameter, value in zip(parameters, weights, strict=True):
            parameter.copy_(torch.from_numpy(value))
        expected = module(torch.from_numpy(x).double(), torch.from_numpy(style).double()).numpy()
    mean, scale, shift = run(order, *arguments)[:, None, :, None]
    assert relative_error((x - mean) * scale + shift, expected) <= LIMITS[order]


@every_order
@pytest.mark.parametrize("length", [1, *LENGTHS])
@pytest.mark.parametrize(("mean", "deviation"), [(0.5, 1), (1000, 1), (-3e4, 0.1), (1e-3, 1e-4), (0, 0)])
def test_a_large_mean_costs_only_its_own_digits(
    order: str, length: int, mean: float, deviation: float
) -> None:
    arguments = random_arguments(order, length, mean, deviation)
    assert_only_rounding_is_lost(run(order, *arguments), arguments)


@every_order
def test_minutes_of_samples_lose_no_more_than_a_few(order: str) -> None:
    arguments = random_arguments(order, 200_003, 1000)
    assert_only_rounding_is_lost(run(order, *arguments), arguments)


def assert_only_rounding_is_lost(affine: Array, arguments: tuple[Array, ...]) -> None:
    expected, deviations = exact(arguments)
    error = np.abs(affine - expected)
    # The second pass corrects the mean: it is off by its own rounding and no more, however long the signal.
    assert (error[0] <= 1.3e-7 * np.maximum(np.abs(expected[0]), deviations)).all()
    # A mean that is off by d makes the variance wrong by d**2, and nothing else is larger than rounding. A
    # one-pass variance loses mean**2 / variance times its rounding: here everything.
    wrong_variance = (error[0] / deviations) ** 2
    terms = np.abs(expected[1]) * wrong_variance + 2e-6 / deviations
    assert (error[1] <= terms).all()
    assert error[2].max() <= 2e-6


@every_order
@settings(max_examples=20)
@given(length=st.integers(1, 300), value=st.floats(-1e4, 1e4, width=32))
def test_a_constant_signal_has_its_value_as_mean(order: str, length: int, value: float) -> None:
    x, *others = random_arguments(order, length)
    affine = run(order, np.full_like(x, value), *others)
    np.testing.assert_allclose(affine[0], value, rtol=1e-6, atol=0)
    assert np.isfinite(affine).all()


@every_order
@every_length
def test_given_statistics_take_the_place_of_those_of_the_input(order: str, length: int) -> None:
    arguments, longer = random_arguments(order, length), random_arguments(order, length + 100, mean=3)
    given_statistics = np.stack([longer[0][0].mean(axis=1), longer[0][0].var(axis=1)])
    affine = run(order, *arguments, given_statistics)
    expected, _ = exact((longer[0], *arguments[1:]))
    np.testing.assert_allclose(affine, expected, rtol=1e-5, atol=1e-6)
    none = np.stack([given_statistics[0], -np.ones_like(given_statistics[1])])
    assert run(order, *arguments, none).tobytes() == run(order, *arguments).tobytes()
    some = np.where(np.arange(given_statistics.shape[1]) % 3, given_statistics, none)
    mixed = np.where(np.arange(given_statistics.shape[1]) % 3, affine, run(order, *arguments))
    assert run(order, *arguments, some).tobytes() == mixed.tobytes()


@every_order
@every_length
def test_nothing_is_left_in_workspaces(order: str, length: int) -> None:
    assert_nothing_is_left_in_workspaces(
        lambda *inputs: run(order, *inputs), *random_arguments(order, length)
    )


@every_order
def test_number_of_threads_changes_no_bit(order: str) -> None:
    arguments = random_arguments(order, 1000)
    assert_threads_change_no_bit(lambda: run(order, *arguments))


def test_sizes_that_vectors_do_not_divide_are_refused() -> None:
    for make, channels in KERNELS.values():
        with pytest.raises(ValueError, match="style size 100 is not a multiple of 32"):
            make(channels, 100, EPSILON)
    with pytest.raises(ValueError, match="48 channels are not a multiple of 32"):
        adain.adain_affine_channels_last(48, STYLE, EPSILON)
