"""The GPU's convolution kernel against torch's in float64, on the stand-in."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.compiler.kernels import conv1d as cpu
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.gpu import conv1d
from exporter.compiler.kernels.gpu.limits import LIMITS, launches
from tests.exporter.compiler.kernels.test_conv1d import (
    LIMIT,
    SPECS,
    packed,
    random_arguments,
    specs,
    swapped,
    torch_convolution,
)
from tests.support.kernels.on_cpu import Array, relative_error
from tests.support.kernels.on_gpu import DEVICES, Gpu

pytestmark = pytest.mark.machines
READ_TYPES = ("float32", "float16")
"""Types of weights that Metal's kernels read; CUDA's read float32 only."""
READ = [name for name, spec in SPECS.items() if spec.weight_dtype in READ_TYPES]


def run(gpu: Gpu, device: str, spec: Convolution, *arguments: Array) -> Array:
    """The convolution; arguments and result are channels first, whatever the kernel's are."""
    x, weight, bias, affine, alpha, *addends = arguments
    if spec.writes_channels_last:
        addends = [swapped(addend) for addend in addends]
    x = swapped(x) if spec.reads_channels_last else x
    length = arguments[0].shape[2] + spec.growth
    inputs = (x, *packed(cpu, spec, weight), bias, affine, alpha, *addends)
    y = gpu.call(device, spec.output_shape(length), inputs, conv1d.convolution, spec)
    return swapped(y) if spec.writes_channels_last else y


def boundaries(spec: Convolution) -> list[int]:
    """Input lengths whose outputs end around the edges of tiles and threads, and the shortest."""
    edges = (conv1d.LANES, conv1d.SPAN, 2 * conv1d.SPAN)
    return sorted({2, 3} | {edge + step - spec.growth for edge in edges for step in (-1, 0, 1)})


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (each, name)
        for each in DEVICES
        for name in READ
        if (each, SPECS[name].weight_dtype) != ("cuda", "float16")
    ],
)
def test_result_is_that_of_torch_at_every_boundary(device: str, name: str, gpu: Gpu) -> None:
    for length in boundaries(SPECS[name]):
        arguments = random_arguments(SPECS[name], length)
        expected = torch_convolution(SPECS[name], *arguments)
        assert relative_error(run(gpu, device, SPECS[name], *arguments), expected) <= LIMIT, length


@settings(max_examples=40)
@given(name=st.sampled_from(READ), length=st.integers(2, 700), seed=st.integers(0, 99))
def test_result_is_that_of_torch_at_any_length(gpu: Gpu, name: str, length: int, seed: int) -> None:
    arguments = random_arguments(SPECS[name], length, seed)
    expected = torch_convolution(SPECS[name], *arguments)
    assert relative_error(run(gpu, "metal", SPECS[name], *arguments), expected) <= LIMIT


@settings(max_examples=8)
@given(spec=specs(READ_TYPES), lengths=st.lists(st.integers(3, 600), min_size=3, max_size=3))
def test_any_combination_is_that_of_torch(gpu: Gpu, spec: Convolution, lengths: list[int]) -> None:
    for length in lengths:
        arguments = random_arguments(spec, length)
        found = run(gpu, "metal", spec, *arguments)
        assert relative_error(found, torch_convolution(spec, *arguments)) <= LIMIT


@pytest.mark.parametrize("name", ["upsampler", "residual block", "dilated snake"])
def test_the_order_of_axes_changes_no_bit(name: str, gpu: Gpu) -> None:
    spec = SPECS[name]
    arguments = random_arguments(spec, 150)
    expected = run(gpu, "cuda", spec, *arguments)
    for reads_last, writes_last in product([False, True], repeat=2):
        other = replace(spec, reads_channels_last=reads_last, writes_channels_last=writes_last)
        np.testing.assert_array_equal(run(gpu, "cuda", other, *arguments), expected)


@pytest.mark.parametrize("name", ["plain", "last", "dilated snake"])
def test_a_sample_does_not_depend_on_where_the_signal_ends(name: str, gpu: Gpu) -> None:
    spec = SPECS[name]
    x, weight, bias, affine, alpha, *addends = arguments = random_arguments(spec, 400)
    whole = run(gpu, "cuda", spec, *arguments)
    for length in (1, 31, 32, 127, 128, 129, 300):
        shorter = (np.ascontiguousarray(addend[..., : length + spec.growth]) for addend in addends)
        part = run(
            gpu, "cuda", spec, np.ascontiguousarray(x[:, :, :length]), weight, bias, affine, alpha, *shorter
        )
        same = max(0, length - spec.padding)
        np.testing.assert_array_equal(part[:, :, :same], whole[:, :, :same])


@given(taps=st.integers(1, 11), dilation=st.integers(1, 5), channels=st.integers(1, 2000))
@settings(max_examples=30)
def test_every_kernel_keeps_to_the_limits(taps: int, dilation: int, channels: int) -> None:
    (launch,) = launches(conv1d.convolution(Convolution(64, channels, taps, dilation=dilation)))
    assert launch.threads == conv1d.THREADS == LIMITS["max_num_threads"]
    assert 0 < launch.shared_bytes <= LIMITS["max_shared_memory_per_block"]
