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


def emit_products(first: Any, second: Any, samples: Any, sums: Any, y: Any) -> None:
    """Adds the products of pairs of some values each by one other pair to sums, `MANY` times."""
    lanes = T.ramp(0, 1, LANES)
    with T.attr(0, "pragma_import_llvm", bfloat16.LLVM[LANES]), T.serial(MANY) as row:
        factors = bfloat16.pairs(first[row, lanes], second[row, lanes], LANES)
        added = bfloat16.add_products(sums[row, lanes], factors, samples[row], LANES)
        T.buffer_store(y, added, [row, lanes])


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
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    pairs: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> NDArray[np.float32]:
    """BFDOT of Arm's Architecture Reference Manual, without the extension EBF16.

    Args:
        first: float32 ``[many, lanes]``, the first factors of each sum.
        second: the second ones.
        pairs: float32 ``[many, 2]``, what they are multiplied by.
        sums: float32 ``[many, lanes]``.
    """
    one, other = (without_subnormals(nearest_half(each)) for each in (first, second))
    # The product of two bfloat16 is a float32.
    products = (
        without_subnormals(values * pairs[:, which, None]) for which, values in enumerate((one, other))
    )
    return sum_to_odd(without_subnormals(sums), sum_to_odd(*products))


def test_products_are_those_of_arms_definition_to_the_bit(level: EmulatedLevel) -> None:
    random = np.random.default_rng(7)

    def numbers(*shape: int) -> NDArray[np.float32]:
        signs = random.choice([-1, 1], shape)
        return (signs * np.exp2(random.uniform(-70, 40, shape))).astype(np.float32)

    first, second, sums = numbers(MANY, LANES), numbers(MANY, LANES), numbers(MANY, LANES)
    # Sums that nearly cancel a product, subnormal numbers, and zeros.
    pairs = nearest_half(numbers(MANY, 2))
    sums[::3] = -nearest_half(first[::3]) * pairs[::3, :1] * np.float32(1.0000001)
    first[::7], sums[::11], pairs[::13] = np.float32(1e-39), np.float32(-2e-40), np.float32(0)
    shapes = {"first": (MANY, LANES), "second": (MANY, LANES), "samples": (MANY,)}
    kernel = kernel_function(
        emit_products, {**shapes, "sums": (MANY, LANES), "y": (MANY, LANES)}, {"samples": "int32"}
    )
    bits = pairs.view(np.uint32) >> 16
    samples = (bits[:, 0] | bits[:, 1] << 16).astype(np.uint32).view(np.int32)
    found = level.build(kernel).call((MANY, LANES), first, second, samples, sums)
    np.testing.assert_array_equal(found, defined(first, second, pairs, sums))


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
