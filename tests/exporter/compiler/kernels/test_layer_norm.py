"""The layer norm kernels against torch's in float64, on each CPU level of this machine."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from exporter.compiler.kernels import layer_norm
from tests.support.kernels import on_cpu
from tests.support.kernels.on_cpu import (
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    relative_error,
)

EPSILON = 1e-5
KINDS = {
    "plain": partial(layer_norm.layer_norm, epsilon=EPSILON),
    "leaky": partial(layer_norm.layer_norm, epsilon=EPSILON, leaky_slope=0.2),
    "adaptive": partial(layer_norm.adaptive_layer_norm, epsilon=EPSILON),
}


def run(kind: str, x: Array, *parameters: Array) -> Array:
    return on_cpu.run(KINDS[kind], (x.shape[1],), x.shape, x, *parameters)


def random_input(channels: int, length: int) -> tuple[Array, Array, Array]:
    """An input, a weight and a bias."""
    random = np.random.default_rng([channels, length])
    x = random.standard_normal((1, channels, length), np.float32)
    return (
        x,
        random.uniform(0.5, 1.5, channels).astype(np.float32),
        random.standard_normal(channels, np.float32),
    )


def torch_layer_norm(x: Array, weight: Array, bias: Array) -> torch.Tensor:
    columns = torch.from_numpy(x).double().transpose(1, 2)
    affine = torch.from_numpy(weight).double(), torch.from_numpy(bias).double()
    return functional.layer_norm(columns, weight.shape, *affine, EPSILON).transpose(1, 2)


@pytest.mark.parametrize(
    ("kind", "channels"), [("plain", 128), ("plain", 512), ("plain", 768), ("leaky", 512), ("adaptive", 512)]
)
@pytest.mark.parametrize("length", [2, 3, 15, 16, 17, 31, 33, 62, 64, 200])
def test_result_is_that_of_torch(kind: str, channels: int, length: int) -> None:
    x, weight, bias = random_input(channels, length)
    parameters: tuple[Array, ...] = weight, bias
    if kind == "adaptive":
        parameters = (np.concatenate([weight - 1, bias])[None],)
        weight = parameters[0][0, :channels] + 1
    expected = torch_layer_norm(x, weight, bias)
    if kind == "leaky":
        expected = functional.leaky_relu(expected, 0.2)
    assert relative_error(run(kind, x, *parameters), expected.numpy()) <= 1e-6


@pytest.mark.parametrize("mean", [10, 1000, -30000])
def test_a_large_mean_costs_no_digits(mean: int) -> None:
    x, weight, bias = random_input(768, 62)
    x += np.float32(mean)
    expected = torch_layer_norm(x, weight, bias).numpy()
    assert relative_error(run("plain", x, weight, bias), expected) <= 1e-6


@settings(max_examples=20)
@given(length=st.integers(2, 100), data=st.data())
def test_time_steps_do_not_depend_on_each_other(length: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(length)))
    x, weight, bias = random_input(128, length)
    shuffled = run("plain", np.ascontiguousarray(x[:, :, order]), weight, bias)
    np.testing.assert_array_equal(shuffled, run("plain", x, weight, bias)[:, :, order])


def test_equal_channels_give_the_bias() -> None:
    _, weight, bias = random_input(128, 40)
    y = run("plain", np.full((1, 128, 40), 7.3, np.float32), weight, bias)
    np.testing.assert_array_equal(y, np.repeat(bias[None, :, None], 40, axis=2))


@pytest.mark.parametrize("length", [2, 31, 45, 105])
def test_neither_threads_nor_what_workspaces_held_change_a_bit(length: int) -> None:
    x, *parameters = random_input(128, length)
    assert_nothing_is_left_in_workspaces(lambda values: run("plain", values, *parameters), x)
    assert_threads_change_no_bit(lambda: run("plain", x, *parameters))


@pytest.mark.parametrize("channels", [0, 2, 127])
def test_channels_that_partial_sums_do_not_divide_are_refused(channels: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 4 channels, found {channels}"):
        layer_norm.layer_norm(channels, epsilon=EPSILON)
    with pytest.raises(ValueError, match=f"multiple of 4 channels, found {channels}"):
        layer_norm.adaptive_layer_norm(channels, epsilon=EPSILON)
