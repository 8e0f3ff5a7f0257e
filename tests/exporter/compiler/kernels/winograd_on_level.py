"""Kernels of `kernels.winograd` on a CPU level with its own arithmetic, and what holds on each of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import tvm
from numpy.typing import NDArray

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.kernels import winograd
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.targets import CpuLevel, find_target
from tests.exporter.compiler.kernels.test_conv1d import random_arguments, swapped
from tests.support.kernels.on_cpu import (
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    call,
    compiled,
)

TARGET = find_target("linux-x86_64")


@cache
def build(spec: Convolution, level: CpuLevel) -> Any:
    """Returns the kernel of a convolution for a level, under the name `kernel`."""
    kernel = winograd.convolution(spec, tiles_of(level))
    return tvm.runtime.load_module(str(compiled(kernel, tvm_target(TARGET, level), find_target("host"))))


def given(spec: Convolution, arguments: tuple[Any, ...]) -> list[Any]:
    """Returns the kernel's arguments, channels last."""
    x, weight, bias, affine, alpha, *addends = arguments
    factors = winograd.pack_weight(weight.astype(np.float32)).astype(spec.weight_dtype)
    return [swapped(x), factors, bias, affine, alpha, *map(swapped, addends)]


def run(spec: Convolution, arguments: tuple[Any, ...], level: CpuLevel) -> NDArray[np.float32]:
    """Returns the output, channels first."""
    shape = spec.output_shape(arguments[0].shape[2] + spec.growth)
    found: NDArray[np.float32] = swapped(call(build(spec, level), shape, *given(spec, arguments)))
    return found


def assert_no_thread_changes_a_bit(spec: Convolution, level: CpuLevel) -> None:
    """Fails where 1, 2 and 3 threads do not give the same bits."""
    arguments = random_arguments(spec, 2_000)
    assert_threads_change_no_bit(lambda: run(spec, arguments, level))


def assert_every_workspace_is_written(spec: Convolution, level: CpuLevel) -> None:
    """Fails where a workspace that the call before has filled with NaN changes a bit of a result."""
    for length in (3, 100, 1_001):
        x, weight, bias, affine, alpha, *addends = random_arguments(spec, length)
        assert_nothing_is_left_in_workspaces(
            lambda x, bias, w=weight, rest=(affine, alpha, *addends): run(spec, (x, w, bias, *rest), level),
            x,
            bias,
        )
