"""The convolution kernel against torch's in float64, on each CPU level of this machine."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.nn import functional

from exporter.compiler.kernels import conv1d
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.int8_weights import expand, quantise
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK
from tests.support.kernels import on_cpu
from tests.support.kernels.on_cpu import (
    TILES,
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    relative_error,
)
from tests.support.paths import PROVING

# Each kind of convolution that the stages have, with few channels, and at the end those whose number of
# channels or of products changes how the work is cut.
SPECS = {
    "plain": Convolution(64, 7, 3, padding=1),
    "linear layer": Convolution(32, 19, 1),
    "linear layer with gelu": Convolution(32, 16, 1, output_activation="gelu"),
    "linear layer with residual": Convolution(32, 32, 1, residuals=1),
    "upsampler": Convolution(32, 10, 2, padding=1, activation="leaky_relu", slope=0.1),
    "source downsampler": Convolution(32, 22, 2),
    "last": Convolution(32, 16, 7, padding=3, activation="leaky_relu", slope=0.01),
    "residual block": Convolution(
        32, 9, 3, padding=1, activation="adain_leaky_relu", slope=0.2, residuals=1, scale=0.5**0.5
    ),
    "upsampling block": Convolution(
        32, 9, 3, padding=1, activation="adain_leaky_relu", residuals=1, repeats_residual=True, scale=0.5**0.5
    ),
    "dilated snake": Convolution(
        32, 12, 7, dilation=5, padding=15, activation="adain_snake", residuals=2, scale=1 / 3
    ),
    "two groups of channels": Convolution(256, 6, 3, padding=1),
    "eight groups of channels": Convolution(512, 6, 5, padding=2),
    "many products": Convolution(32, 1090, 3, padding=1),
}
SPECS |= {
    f"{name} of float16": replace(SPECS[name], weight_dtype="float16")
    for name in ("last", "dilated snake", "eight groups of channels", "many products")
}
SPECS |= {
    f"{name} of int8": replace(SPECS[name], weight_dtype="int8")
    for name in ("residual block", "linear layer", "many products")
}
# Measured are 6e-7 to 1.2e-6: the rounding (6e-8) of 256 products at a time, at a sample that is 4 to 5 times
# the RMS and the greatest error among thousands.
LIMIT = 2e-6
every_spec = pytest.mark.parametrize("name", SPECS)


def boundaries(spec: Convolution) -> list[int]:
    """Input lengths around the edges of vectors, register tiles and jobs, and the shortest."""
    levels = [each.for_weights(spec.weight_dtype) for each in TILES.values()]
    spans = {-(-conv1d.sizes(spec, each)["span"] // each.steps) * each.steps for each in levels}
    edges = {3, 6, 12, 16, 24, *spans, *(2 * span for span in spans)}
    return sorted({2, 3} | {edge + step - min(spec.growth, 0) for edge in edges for step in (-1, 0, 1)})


def random_arguments(spec: Convolution, length: int, seed: int = 0) -> tuple[Array, ...]:
    """Input, weight [out, in, taps], bias, affine, alpha, residual and other: sums have a variance near 1."""
    random = np.random.default_rng([seed, length])
    x = random.standard_normal((1, spec.in_channels, length), np.float32)
    weight = random.standard_normal((spec.out_channels, spec.in_channels, spec.taps), np.float32)
    weight /= np.float32((spec.in_channels * spec.taps) ** 0.5)
    weight = expand(*quantise(weight)) if spec.weight_dtype == "int8" else weight.astype(spec.weight_dtype)
    bias = random.standard_normal(spec.out_channels, np.float32)
    affine = alpha = np.zeros(1, np.float32)
    if spec.activation.startswith("adain"):
        affine = random.uniform(0.5, 1.5, spec.affine_shape).astype(np.float32)
    if spec.activation == "adain_snake":
        forward = random.uniform(0.5, 1.5, spec.in_channels).astype(np.float32)
        alpha = np.stack([forward, 1 / forward])
    steps = length + spec.growth
    lengths = ((steps + 1) // 2 if spec.repeats_residual else steps, steps)
    addends = (
        random.standard_normal((1, spec.out_channels, each) if spec.residuals > i else (1,), np.float32)
        for i, each in enumerate(lengths)
    )
    return x, weight, bias, affine, alpha, *addends


def swapped(value: Array) -> Array:
    """The other order of channels and time; what is no activation stays."""
    return np.ascontiguousarray(value.swapaxes(1, 2)) if value.ndim == 3 else value


def packed(kernels: ModuleType, spec: Convolution, weight: Array) -> list[NDArray[Any]]:
    """A weight as `spec` stores it, and its scales if it has some."""
    if spec.weight_dtype == "int8":
        return list(conv1d.pack_int8(*quantise(weight)))
    return [kernels.pack_weight(weight.astype(np.float32)).astype(spec.weight_dtype)]


def run(spec: Convolution, *arguments: Array, kernels: ModuleType = conv1d) -> Array:
    """The convolution of `kernels`; arguments and result are channels first, whatever the kernel's are."""
    x, weight, bias, affine, alpha, *addends = arguments
    if spec.writes_channels_last:
        addends = [swapped(addend) for addend in addends]
    stored, *scales = packed(kernels, spec, weight)
    y = on_cpu.run(
        kernels.convolution, (spec,), spec.output_shape(x.shape[2] + spec.growth),
        swapped(x) if spec.reads_channels_last else x, stored, bias, affine, alpha, *addends, *scales,
        tiled=True,
    )  # fmt: skip
    return swapped(y) if spec.writes_channels_last else y


def torch_convolution(spec: Convolution, *arguments: Array) -> NDArray[np.float64]:
    x, weight, bias, affine, alpha, residual, other = (
        torch.from_numpy(value).double() for value in arguments
    )
    if spec.activation.startswith("adain"):
        mean, scale, shift = affine[:, None, :, None]
        x = (x - mean) * scale + shift
    if spec.activation == "adain_snake":
        forward = alpha[0, :, None]
        x = x + torch.sin(forward * x) ** 2 / forward
    elif spec.activation != "none":
        x = functional.leaky_relu(x, spec.slope)
    y = functional.conv1d(x, weight, bias, padding=spec.padding, dilation=spec.dilation)
    if spec.output_activation == "gelu":
        y = functional.gelu(y, approximate="tanh")
    if spec.repeats_residual:
        residual = residual.repeat_interleave(2, dim=2)[:, :, : y.shape[2]]
    for addend in (residual, other)[: spec.residuals]:
        y = y + addend
    result: NDArray[np.float64] = (y * spec.scale).numpy()
    return result


def assert_is_that_of_torch(spec: Convolution, *arguments: Array, limit: float = LIMIT) -> None:
    error = relative_error(run(spec, *arguments), torch_convolution(spec, *arguments))
    assert error <= limit, arguments[0].shape


@every_spec
def test_result_is_that_of_torch_at_every_boundary(name: str) -> None:
    for length in boundaries(SPECS[name]):
        assert_is_that_of_torch(SPECS[name], *random_arguments(SPECS[name], length))


@settings(max_examples=40)
@given(name=st.sampled_from(list(SPECS)), length=st.integers(2, 700), seed=st.integers(0, 99))
def test_result_is_that_of_torch_at_any_length(name: str, length: int, seed: int) -> None:
    assert_is_that_of_torch(SPECS[name], *random_arguments(SPECS[name], length, seed))


@st.composite
def specs(draw: st.DrawFn, weights: Sequence[str] = ("float32", "float16", "int8")) -> Convolution:
    """Any convolution of few channels whose output has a sample where the input has two."""
    taps, dilation = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    reach = dilation * (taps - 1)
    return Convolution(
        out_channels=draw(st.sampled_from([32, 64])),
        in_channels=draw(st.integers(1, 20)),
        taps=taps,
        dilation=dilation,
        padding=draw(st.integers(reach // 2, reach)),
        activation=draw(st.sampled_from(["none", "leaky_relu", "adain_leaky_relu", "adain_snake"])),
        slope=draw(st.sampled_from([0.0, 0.01, 0.2])),
        residuals=draw(st.integers(0, 2)),
        scale=draw(st.sampled_from([1.0, 0.5])),
        reads_channels_last=draw(st.booleans()),
        writes_channels_last=draw(st.booleans()),
        weight_dtype=draw(st.sampled_from(weights)),
    )


@settings(max_examples=20 if PROVING else 5)
@given(spec=specs(), lengths=st.lists(st.integers(3, 600), min_size=3, max_size=3))
def test_any_combination_is_that_of_torch(spec: Convolution, lengths: list[int]) -> None:
    for length in lengths:
        assert_is_that_of_torch(spec, *random_arguments(spec, length))


@pytest.mark.parametrize(
    ("name", "reads_last", "writes_last"),
    [
        ("upsampler", True, True),
        ("source downsampler", False, True),
        ("last", True, False),
        ("dilated snake", True, True),
    ],
)
def test_the_order_of_axes_changes_no_bit(name: str, reads_last: bool, writes_last: bool) -> None:
    spec = SPECS[name]
    other = replace(spec, reads_channels_last=reads_last, writes_channels_last=writes_last)
    for length in boundaries(spec):
        arguments = random_arguments(spec, length)
        np.testing.assert_array_equal(run(other, *arguments), run(spec, *arguments))


@pytest.mark.parametrize(
    "name", ["plain", "last of float16", "many products of int8", "dilated snake", "eight groups of channels"]
)
def test_a_sample_does_not_depend_on_where_the_signal_ends(name: str) -> None:
    spec = SPECS[name]
    arguments = random_arguments(spec, 400)
    whole = run(spec, *arguments)
    # At every length up to 49 a register tile of another width computes the end.
    for length in (*range(1, 50), 127, 300):
        x, weight, bias, affine, alpha, *addends = arguments
        shorter = (np.ascontiguousarray(addend[..., : length + spec.growth]) for addend in addends)
        part = run(spec, np.ascontiguousarray(x[:, :, :length]), weight, bias, affine, alpha, *shorter)
        same = max(0, length - spec.padding)
        np.testing.assert_array_equal(part[:, :, :same], whole[:, :, :same])


@every_spec
def test_nothing_is_left_in_workspaces(name: str) -> None:
    for length in (3, 100):
        assert_nothing_is_left_in_workspaces(
            partial(run, SPECS[name]), *random_arguments(SPECS[name], length)
        )


@pytest.mark.parametrize(
    "name",
    [
        *("dilated snake", "two groups of channels", "eight groups of channels"),
        *("eight groups of channels of float16", "many products of int8"),
    ],
)
def test_number_of_threads_changes_no_bit(name: str) -> None:
    arguments = random_arguments(SPECS[name], 1200)
    assert_threads_change_no_bit(lambda: run(SPECS[name], *arguments))


@settings(max_examples=10)
@given(rows=st.integers(1, 64), length=st.integers(3, 70))
def test_output_channels_without_weights_are_zero(rows: int, length: int) -> None:
    x, weight, bias, *others = random_arguments(SPECS["plain"], length)
    bias[rows:] = 0
    spec = SPECS["plain"] if rows > CHANNEL_BLOCK else Convolution(32, 7, 3, padding=1)
    y = run(spec, x, weight[:rows], bias[: spec.out_channels], *others)
    np.testing.assert_array_equal(y[:, :rows], run(SPECS["plain"], x, weight, bias, *others)[:, :rows])
    assert not y[:, rows:].any()


@given(out=st.integers(1, 80), channels=st.integers(1, 5), taps=st.integers(1, 4))
def test_packing_puts_blocks_of_output_channels_last_and_adds_zeros(
    out: int, channels: int, taps: int
) -> None:
    weight = np.random.default_rng(0).standard_normal((out, channels, taps), np.float32)
    packed = conv1d.pack_weight(weight)
    rows = packed.transpose(0, 3, 1, 2).reshape(-1, channels, taps)
    assert packed.shape == (-(-out // CHANNEL_BLOCK), channels, taps, CHANNEL_BLOCK)
    assert conv1d.padded_channels(out) == packed.shape[0] * CHANNEL_BLOCK
    np.testing.assert_array_equal(rows[:out], weight)
    assert not rows[out:].any()
