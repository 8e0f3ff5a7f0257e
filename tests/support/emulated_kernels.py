"""Kernels for a machine of another processor family: compiled and linked here, called there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.tirx import PrimFunc

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.targets import CpuLevel, Target
from tests.support.compiled_kernels import compiled
from tests.support.emulation import Ask


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel in a library that only the emulated machine can load."""

    library: Path
    ask: Ask

    def call(self, shape: tuple[int, ...], *inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Has the emulated machine do what `guarded.guarded_call` does here."""
        result: NDArray[np.float32] = self.ask((str(self.library), shape, inputs))
        return result


@dataclass(frozen=True)
class EmulatedLevel:
    """Compiles kernels for a CPU level of an emulated machine."""

    target: Target
    level: CpuLevel
    ask: Ask
    """Asks the machine, which answers with `guarded.answers`."""

    def build(self, kernel: PrimFunc) -> EmulatedKernel:
        """Compiles and links a kernel."""
        library = compiled(kernel, tvm_target(self.target, self.level), self.target)
        return EmulatedKernel(library, self.ask)
