"""Products of bfloat16 on Arm, under emulation: the instruction, and the kernels that use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tvm.script import tirx as T

from exporter.compiler.kernels import bfloat16, winograd
from exporter.compiler.kernels.function import kernel_function
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.targets import find_target
from exporter.export.runtime_wheel import runtime_libraries
from runtime_min.model.distances import snr
from tests.exporter.compiler.kernels.test_bfloat16 import SHAPES, model, spec_of
from tests.exporter.compiler.kernels.test_conv1d import random_arguments, swapped
from tests.exporter.compiler.kernels.winograd_on_level import given
from tests.support.emulation.machine import EmulatedMachine
from tests.support.kernels import guarded_memory
from tests.support.kernels.on_cpu import (
    EmulatedLevel,
    assert_nothing_is_left_in_workspaces,
    without_subnormals,
)

pytestmark = pytest.mark.machines

TARGET = find_target("linux-aarch64")
(LEVEL,) = TARGET.arithmetic_levels
LANES = LEVEL.lanes
LENGTHS = (3, 64, 401)
MANY = 4_096


@pytest.fixture(scope="module")
def level(aarch64: EmulatedMachine) -> Iterator[EmulatedLevel]:
    serving = aarch64.serving(Path(guarded_memory.__file__), runtime_libraries(TARGET)["libtvm_runtime.so"])
    with serving as ask:
        yield EmulatedLevel(TARGET, LEVEL, ask)


def emit_products(values: Any, samples: Any, sums: Any, y: Any) -> None:
    """Adds products of the squares of four registers each with a square of samples to sums, `MANY` times."""
    lanes = T.ramp(0, 1, LANES)
    with T.attr(0, "pragma_import_llvm", bfloat16.LLVM[LANES]), T.serial(MANY) as row:
        factors = T.alloc_buffer((2 * LANES,), "int32", scope="local")
        registers = [values[row, channel, lanes] for channel in range(4)]
        T.buffer_store(factors, bfloat16.squares(registers), [T.ramp(0, 1, 2 * LANES)])
        with T.unroll(2) as half:
            factor, square = factors[T.ramp(half * LANES, 1, LANES)], samples[row, lanes]
            added = bfloat16.add_products(sums[row, half, lanes], factor, square, LANES)
            T.buffer_store(y, added, [row, half, lanes])


def nearest_half(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The nearest bfloat16 of each value, ties to even, as a float32."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def sum_to_odd(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """The sum of two, rounded to odd: cut, and odd where something was cut off."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    total = a + b
    rest = (a - (total - (total - a))) + (b - (total - a))
    cut = total.astype(np.float32)
    beyond = np.abs(cut.astype(np.float64)) > np.abs(total)
    beyond |= (cut == total) & (rest != 0) & (np.signbit(rest) != np.signbit(total))
    cut = np.where(beyond, np.nextafter(cut, np.float32(0)), cut)
    inexact = (cut != total) | (rest != 0)
    return without_subnormals((cut.view(np.uint32) | inexact).view(np.float32))


def defined(
    values: NDArray[np.float32], samples: NDArray[np.float32], sums: NDArray[np.float32]
) -> NDArray[np.float32]:
    """BFMMLA of Arm's Architecture Reference Manual, without the extension EBF16.

    Args:
        values: float32 ``[many, channels, outputs]``, four of each.
        samples: float32 ``[many, columns, channels]``, two and four.
        sums: float32 ``[many, columns, outputs]``.
    """
    factors = without_subnormals(nearest_half(values))
    # The product of two bfloat16 is a float32.
    products = without_subnormals(samples[..., None] * factors[:, None])
    total = without_subnormals(sums)
    for channel in (0, 2):
        total = sum_to_odd(total, sum_to_odd(products[:, :, channel], products[:, :, channel + 1]))
    return total


def in_halves(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns [many, columns, outputs] as [many, half of the outputs, square], or the other way round."""
    many = values.shape[0]
    return values.reshape(many, 2, 2, 2).swapaxes(1, 2).reshape(many, 2, 4)


def test_products_are_those_of_arms_definition_to_the_bit(level: EmulatedLevel) -> None:
    random = np.random.default_rng(7)

    def numbers(*shape: int) -> NDArray[np.float32]:
        signs = random.choice([-1, 1], shape)
        return (signs * np.exp2(random.uniform(-70, 40, shape))).astype(np.float32)

    values, samples, sums = numbers(MANY, 4, 4), nearest_half(numbers(MANY, 2, 4)), numbers(MANY, 2, 4)
    # Sums that nearly cancel a product, subnormal numbers, and zeros.
    products = nearest_half(values[::3, :1]) * samples[::3, :, :1]
    sums[::3] = -products * np.float32(1.0000001)
    values[::7, 0], sums[::11, 0], samples[::13] = np.float32(1e-39), np.float32(-2e-40), np.float32(0)
    shapes = {"values": (MANY, 4, 4), "samples": (MANY, 4), "sums": (MANY, 2, 4), "y": (MANY, 2, 4)}
    kernel = kernel_function(emit_products, shapes, {"samples": "int32"})
    # One column's four halves after the other's.
    halves = (samples.reshape(MANY, 8).view(np.uint32) >> 16).astype(np.uint16)
    found = level.build(kernel).call((MANY, 2, 4), values, halves.view(np.int32), in_halves(sums))
    np.testing.assert_array_equal(in_halves(found), defined(values, samples, sums))


@pytest.mark.parametrize(("taps", "dilation"), SHAPES)
def test_convolutions_are_those_of_bfloat16_factors_and_samples(
    level: EmulatedLevel, taps: int, dilation: int
) -> None:
    spec = spec_of(taps, dilation)
    kernel = level.build(winograd.convolution(spec, tiles_of(LEVEL)))
    for length in LENGTHS:
        arguments = random_arguments(spec, length)
        found = swapped(kernel.call(spec.output_shape(length + spec.growth), *given(spec, arguments)))
        assert snr(found, model(spec, arguments)) > 60, length


def test_nothing_is_left_in_workspaces(level: EmulatedLevel) -> None:
    spec = spec_of(3, 1)
    kernel = level.build(winograd.convolution(spec, tiles_of(LEVEL)))
    x, weight, bias, *rest = given(spec, random_arguments(spec, 401))
    shape = spec.output_shape(401 + spec.growth)
    assert_nothing_is_left_in_workspaces(lambda x, bias: kernel.call(shape, x, weight, bias, *rest), x, bias)
