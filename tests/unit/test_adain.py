"""The statistics of adaptive instance normalisation against float64, on each CPU level of this machine."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kokoro.istftnet import AdaIN1d
from numpy.typing import NDArray

from exporter.kernels import adain
from tests.unit.kernel_testing import (
    LEVELS,
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    build,
    call,
    every_level,
    relative_error,
)

Exact = NDArray[np.float64]
CHANNELS, STYLE, EPSILON = 5, 64, 1e-5
every_length = pytest.mark.parametrize("length", [2, 3, 31, 32, 33, 64, 65, 1000, 20_001])


def random_arguments(length: int, mean: float = 0.5, deviation: float = 1.0) -> tuple[Array, ...]:
    """Input, style, weight and bias of the linear layer, weight and bias of the norm."""
    random = np.random.default_rng([length, STYLE])
    x, style, fc_weight, fc_bias, weight, bias = (
        random.standard_normal(shape, np.float32)
        for shape in (
            (1, CHANNELS, length),
            (1, STYLE),
            (2 * CHANNELS, STYLE),
            2 * CHANNELS,
            CHANNELS,
            CHANNELS,
        )
    )
    x = x * np.float32(deviation) + np.float32(mean)
    return x, style, fc_weight / np.float32(STYLE**0.5), fc_bias, 1 + weight / 4, bias


def run(level: str, *arguments: Array) -> Array:
    return call(build(level, adain.adain_affine, CHANNELS, STYLE, EPSILON), (CHANNELS, 3), *arguments)


def exact(arguments: tuple[Array, ...]) -> tuple[Exact, Exact]:
    """Mean, scale and shift of each channel, [channels, 3], and standard deviations, all in float64."""
    x, style, fc_weight, fc_bias, weight, bias = (value.astype(np.float64) for value in arguments)
    gamma, beta = np.split(fc_weight @ style[0] + fc_bias, 2)
    deviation = np.sqrt(x[0].var(axis=1) + EPSILON)
    affine = [x[0].mean(axis=1), (1 + gamma) * weight / deviation, (1 + gamma) * bias + beta]
    return np.stack(affine, axis=1), deviation


@every_level
@every_length
def test_the_map_is_kokoros_adain(level: str, length: int) -> None:
    x, style, *weights = arguments = random_arguments(length)
    module = AdaIN1d(STYLE, CHANNELS).double().eval()
    parameters = module.fc.weight, module.fc.bias, module.norm.weight, module.norm.bias
    with torch.no_grad():
        for parameter, value in zip(parameters, weights, strict=True):
            parameter.copy_(torch.from_numpy(value))
        expected = module(torch.from_numpy(x).double(), torch.from_numpy(style).double()).numpy()
    mean, scale, shift = run(level, *arguments).T[:, None, :, None]
    assert relative_error((x - mean) * scale + shift, expected) <= 2e-6


@every_level
@every_length
@pytest.mark.parametrize(("mean", "deviation"), [(0.5, 1), (1000, 1), (-3e4, 0.1), (1e-3, 1e-4), (0, 0)])
def test_a_large_mean_costs_only_its_own_digits(
    level: str, length: int, mean: float, deviation: float
) -> None:
    arguments = random_arguments(length, mean, deviation)
    expected, deviations = exact(arguments)
    error = np.abs(run(level, *arguments) - expected)
    # The second pass corrects the mean: it is off by its own rounding and no more, however long the signal.
    assert (error[:, 0] <= 1.3e-7 * np.maximum(np.abs(expected[:, 0]), deviations)).all()
    # A mean that is off by d makes the variance wrong by d**2, and nothing else is larger than rounding. A
    # one-pass variance loses mean**2 / variance times its rounding: here everything.
    wrong_variance = (error[:, 0] / deviations) ** 2
    terms = np.abs(expected[:, 1]) * wrong_variance + 2e-6 / deviations
    assert (error[:, 1] <= terms).all()
    assert error[:, 2].max() <= 2e-6


@every_level
@settings(max_examples=20)
@given(length=st.integers(2, 300), value=st.floats(-1e4, 1e4, width=32))
def test_a_constant_signal_has_its_value_as_mean(level: str, length: int, value: float) -> None:
    _, *others = random_arguments(length)
    x = np.full((1, CHANNELS, length), value, np.float32)
    affine = run(level, x, *others)
    np.testing.assert_allclose(affine[:, 0], value, rtol=1e-6, atol=0)
    assert np.isfinite(affine).all()


def test_every_level_gives_the_same_bits() -> None:
    for length in (3, 100, 1000):
        assert len({run(level, *random_arguments(length)).tobytes() for level in LEVELS}) == 1


@every_level
@every_length
def test_nothing_is_left_in_workspaces(level: str, length: int) -> None:
    assert_nothing_is_left_in_workspaces(lambda *inputs: run(level, *inputs), *random_arguments(length))


def test_number_of_threads_changes_no_bit() -> None:
    arguments = random_arguments(1000)
    assert_threads_change_no_bit(lambda: run(LEVELS[-1], *arguments))


def test_style_sizes_that_vectors_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="style size 100 is not a multiple of 32"):
        adain.adain_affine(CHANNELS, 100, EPSILON)
