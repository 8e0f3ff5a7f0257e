"""Compiles stages with a seeded defect each, in a process: CONFIG LEVEL PRECISION DIRECTORY NAME..."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from tvm.script import tirx as T

from exporter.compiler import operators
from exporter.compiler.compile_stage import compile_stage
from exporter.compiler.kernels import spectrum, vector_math
from exporter.compiler.library import Job
from exporter.compiler.stages import layers
from exporter.compiler.targets import find_target
from runtime_min.format.signatures import signatures

PADDING = 40
EXACT_ATAN2 = vector_math.atan2


def lstm_over_padding(self: layers.BidirectionalLstm, x: Tensor) -> Tensor:
    """Runs on over zeros, as in a padded bucket without packing."""
    states = operators.bidirectional_lstm(self.project(F.pad(x, (0, PADDING))), self.recurrent)
    return F.pad(states, (0, -PADDING))


def statistics_over_bucket(self: layers.AdaIN, x: Tensor, style: Tensor) -> Tensor:
    """Mean and variance over the valid frames and the padding behind them."""
    affine: Tensor = operators.adain_affine(
        F.pad(x, (0, PADDING)), style, self.fc_weight, self.fc_bias, self.weight, self.bias, self.epsilon
    )
    return affine


def angle_of_minus_pi(y: Any, x: Any) -> Any:
    """Takes the other side of the cut for real negative bins."""
    return EXACT_ATAN2(T.Select(y == T.float32(0), T.float32(-0.0), y), x)


DEFECTS: dict[str, tuple[str, Any, str, Callable[..., Any] | float]] = {
    "lstm": ("duration", layers.BidirectionalLstm, "forward", lstm_over_padding),
    "instance_norm": ("f0n", layers.AdaIN, "forward", statistics_over_bucket),
    "slope": ("f0n", layers.ResidualBlock, "SLOPE", 0.1),
    "phase": ("decoder", spectrum.vector_math, "atan2", angle_of_minus_pi),
}
"""Stage, object, attribute and its replacement, by the name of the defect."""


def main(config: str, level: str, precision: str, directory: str, *names: str) -> None:
    """Writes a library for each of the named defects."""
    target, text = find_target("host"), Path(config).read_text()
    row = next(row for row in target.levels if row.name == level)
    described = signatures(512, 128)
    torch.set_num_threads(1)
    for name in names:
        stage, owner, attribute, replacement = DEFECTS[name]
        intact = getattr(owner, attribute)
        setattr(owner, attribute, replacement)
        job = Job(text, described[stage], 512, target, row, precision=precision)
        compile_stage(job, Path(directory) / f"{name}{target.library_suffix}")
        setattr(owner, attribute, intact)


if __name__ == "__main__":
    main(*sys.argv[1:])
