"""A library on its way: the job that asks for it, the compiled file, and the weights that it takes.

Plain values that any process can read: nothing here imports torch or TVM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter.compiler.targets import FLOAT32, CpuLevel, Target
from runtime_min.format.signatures import StageSignature


@dataclass(frozen=True)
class Job:
    """One library to compile: with the compiler itself, all that decides its bytes."""

    config: str
    """The model's configuration, in JSON."""
    signature: StageSignature
    bucket: int
    """Largest length along the stage's axis."""
    target: Target
    level: CpuLevel
    device: str = "cpu"
    """Device of the stage: ``cpu``, ``metal`` or ``cuda``."""
    precision: str = "float32"
    """Precision of the stored weights, one of `exporter.compiler.precision.PRECISIONS`."""

    @property
    def stage(self) -> str:
        """Name of the stage, and of the library's entry function."""
        return self.signature.name

    def __str__(self) -> str:
        return f"{self.stage} {self.bucket} {self.level.name}"


@dataclass(frozen=True)
class CompiledLibrary:
    """A compiled library."""

    job: Job
    path: Path
    parameters: tuple[tuple[str, str], ...] = ()
    """Name and layout of each tensor that a call takes after the inputs, in that order."""
    seconds: float = 0.0
    """Time that it took to compile."""


@dataclass(frozen=True)
class StoredWeights:
    """How a bundle stores the weights that kokoro computes with, and how it multiplies by them."""

    precision: str = "float32"
    """One of `exporter.compiler.precision.PRECISIONS`."""
    separate_source: bool = False
    """True for a bundle whose decoder is one for a GPU, which transforms no weights."""
    arithmetic: str = FLOAT32
    """Arithmetic of the generator's convolutions: ``float32`` or one of `targets.ARITHMETICS`."""
    direct: bool = False
    """True for an arithmetic that multiplies samples and taps as they are, not transformed."""

    @property
    def original(self) -> bool:
        """True if they are the checkpoint's own, in kokoro's own modules."""
        return self.precision == "float32" and self.arithmetic == FLOAT32

    def on(self, level: CpuLevel) -> StoredWeights:
        """Returns the same weights as the decoder of a CPU level multiplies by them."""
        return replace(self, arithmetic=level.arithmetic, direct=level.has_matrix_unit)


ORIGINAL = StoredWeights()
"""The checkpoint's own weights."""


@dataclass(frozen=True)
class Weight:
    """One parameter of a stage, as a bundle stores it."""

    name: str
    values: NDArray[np.generic]
    layout: str = "row-major"
    """Name of the kernel layout."""
    plain: Weight | None = None
    """The same as the model has it, where a reader can compute the values from that."""
