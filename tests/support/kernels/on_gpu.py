"""Shared parts of tests of GPU kernels: devices that the stand-in plays, and calls of kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tvm
from numpy.typing import NDArray
from tvm.tirx import PrimFunc

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.kernels.gpu.constants import exact_constants
from exporter.compiler.targets import find_target
from tests.support.gpu import stand_in
from tests.support.gpu.stand_in import Ask
from tests.support.kernels.on_cpu import LEVELS, Array, compiled

DEVICES = {"metal": True, "cuda": False}
"""True, by kind, if TVM's runtime lets the device's compiler use fast math."""
every_device = pytest.mark.parametrize("device", DEVICES)


def target(device: str) -> tvm.target.Target:
    """A GPU, with this machine as its host."""
    host = find_target("linux-x86_64")
    return tvm_target(host, next(level for level in host.levels if level.name == LEVELS[-1]), device)


class Gpu:
    """Compiles kernels and runs them on the stand-in, each device in a process of its own.

    The stand-in fills device and shared memory with NaN, and reports what is read or written beside a tensor.
    """

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self._place, self._stack = place, stack
        self._library, self._process = cache(self._build), cache(self._start)

    def call(
        self, device: str, shape: tuple[int, ...], inputs: tuple[NDArray[Any], ...],
        make: Callable[..., PrimFunc], *arguments: Any, **options: Any,
    ) -> Array:  # fmt: skip
        """The output of the kernel `make(*arguments, **options)`, [*shape], for `inputs`."""
        library = self._library(device, make, arguments, tuple(options.items()))
        (output,) = self._process(device)(str(library), "kernel", [shape], inputs)
        result: Array = output
        return result

    def _build(self, device: str, make: Callable[..., PrimFunc], arguments: Any, options: Any) -> Path:
        kernel = make(*arguments, **dict(options))
        if device == "metal":
            kernel = exact_constants(kernel)
        return compiled(kernel, target(device), find_target("host"))

    def _start(self, device: str) -> Ask:
        return self._stack.enter_context(stand_in.calling(stand_in.build(device, fast_math=DEVICES[device])))
