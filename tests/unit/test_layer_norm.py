"""The layer norm kernels against torch's in float64, on each CPU level of this machine."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.nn import functional

from exporter.kernels import layer_norm

Array = NDArray[np.float32]
EPSILON = 1e-5
HAS_AVX512 = tvm.target.codegen.llvm_cpu_has_features(
    "avx512f", tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
)
every_level = pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"] if HAS_AVX512 else ["x86-64-v3"])
every_size = pytest.mark.parametrize("channels", [128, 512, 768])
every_length = pytest.mark.parametrize("length", [2, 3, 31, 32, 33, 62, 64, 200])


@cache
def build(kind: str, channels: int, level: str) -> tvm.runtime.Executable:
    kernel = {
        "plain": lambda: layer_norm.layer_norm(channels, epsilon=EPSILON),
        "leaky": lambda: layer_norm.layer_norm(channels, epsilon=EPSILON, leaky_slope=0.2),
        "adaptive": lambda: layer_norm.adaptive_layer_norm(channels, epsilon=EPSILON),
    }[kind]()
    target = tvm.target.Target({"kind": "llvm", "mcpu": level})
    return tvm.compile(kernel.with_attr("global_symbol", "norm"), target)


def run(kind: str, level: str, x: Array, *parameters: Array) -> Array:
    y = tvm.runtime.tensor(np.full_like(x, np.nan))
    build(kind, x.shape[1], level)["norm"](*map(tvm.runtime.tensor, (x, *parameters)), y)
    result: Array = y.numpy()
    return result


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


def relative_error(y: Array, expected: torch.Tensor) -> float:
    return float((torch.from_numpy(y) - expected).abs().max() / expected.square().mean().sqrt())


@every_level
@every_size
@every_length
def test_result_is_that_of_torch(level: str, channels: int, length: int) -> None:
    arguments = random_input(channels, length)
    assert relative_error(run("plain", level, *arguments), torch_layer_norm(*arguments)) <= 1e-6


@every_level
@every_length
def test_leaky_relu_follows_the_affine(level: str, length: int) -> None:
    arguments = random_input(512, length)
    expected = functional.leaky_relu(torch_layer_norm(*arguments), 0.2)
    assert relative_error(run("leaky", level, *arguments), expected) <= 1e-6


@every_level
@every_length
def test_style_gives_one_plus_gamma_and_beta(level: str, length: int) -> None:
    x, weight, bias = random_input(512, length)
    style = np.concatenate([weight - 1, bias])[None]
    expected = torch_layer_norm(x, style[0, :512] + 1, bias)
    assert relative_error(run("adaptive", level, x, style), expected) <= 1e-6


@every_level
@pytest.mark.parametrize("mean", [10, 1000, -30000])
def test_a_large_mean_costs_no_digits(level: str, mean: int) -> None:
    x, weight, bias = random_input(768, 62)
    x += np.float32(mean)
    assert relative_error(run("plain", level, x, weight, bias), torch_layer_norm(x, weight, bias)) <= 1e-6


@every_level
@settings(max_examples=20)
@given(length=st.integers(2, 100), data=st.data())
def test_time_steps_do_not_depend_on_each_other(level: str, length: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(length)))
    x, weight, bias = random_input(128, length)
    shuffled = run("plain", level, np.ascontiguousarray(x[:, :, order]), weight, bias)
    np.testing.assert_array_equal(shuffled, run("plain", level, x, weight, bias)[:, :, order])


@every_level
def test_equal_channels_give_the_bias(level: str) -> None:
    _, weight, bias = random_input(128, 40)
    y = run("plain", level, np.full((1, 128, 40), 7.3, np.float32), weight, bias)
    np.testing.assert_array_equal(y, np.repeat(bias[None, :, None], 40, axis=2))


@every_level
@pytest.mark.parametrize("length", [2, 31, 45])
def test_nan_left_in_workspaces_changes_no_bit(level: str, length: int) -> None:
    x, weight, bias = random_input(128, length)
    clean = run("plain", level, x, weight, bias)
    run("plain", level, np.full_like(x, np.nan), weight, bias)
    np.testing.assert_array_equal(run("plain", level, x, weight, bias), clean)


def test_number_of_threads_changes_no_bit() -> None:
    root = Path(__file__).parents[2]
    environment = os.environ | {"TVM_NUM_THREADS": "3", "PYTHONPATH": str(root)}
    process = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["equal", "equal", "equal"]


@pytest.mark.parametrize("channels", [0, 2, 127])
def test_channels_that_partial_sums_do_not_divide_are_refused(channels: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 4 channels, found {channels}"):
        layer_norm.layer_norm(channels, epsilon=EPSILON)
    with pytest.raises(ValueError, match=f"multiple of 4 channels, found {channels}"):
        layer_norm.adaptive_layer_norm(channels, epsilon=EPSILON)


def compare_threads() -> None:
    """Prints for 1, 2 and 3 threads whether the result is that of one thread."""
    arguments = random_input(128, 105)
    configure = tvm.get_global_func("runtime.config_threadpool")
    results = []
    for threads in (1, 2, 3):
        configure(1, threads)
        results.append(run("plain", "x86-64-v3", *arguments))
        print("equal" if np.array_equal(results[0], results[-1]) else "different")


if __name__ == "__main__":
    compare_threads()
