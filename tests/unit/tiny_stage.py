"""A stage as kokoro's F0 and N predictor, small enough to be compiled in a few seconds."""

from typing import Any

import numpy as np
import torch
import tvm
from kokoro.modules import ProsodyPredictor
from numpy.typing import NDArray
from tvm import IRModule, relax

from exporter.import_stage import import_stage
from exporter.stages.audio import F0N
from runtime_min.stages import StageSignature, TensorSignature
from tests.unit.kernel_testing import LEVELS, TILES

HIDDEN = STYLE = 32
BUCKET = 100
LEVEL = LEVELS[-1]
SIGNATURE = StageSignature(
    name="tiny",
    axis="frames",
    minimum=3,
    inputs=(
        TensorSignature("aligned_encoding", "float32", (1, HIDDEN + STYLE, (1, "frames"))),
        TensorSignature("prosody_style", "float32", (1, STYLE)),
    ),
    outputs=(
        TensorSignature("f0", "float32", (1, (2, "frames"))),
        TensorSignature("energy", "float32", (1, (2, "frames"))),
    ),
)


def make() -> F0N:
    """The stage with random weights."""

    class Model(torch.nn.Module):
        predictor = ProsodyPredictor(style_dim=STYLE, d_hid=HIDDEN, nlayers=1, max_dur=50, dropout=0)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        return F0N(Model()).eval()


def imported(stage: F0N, function: str = "tiny") -> IRModule:
    return import_stage(stage, SIGNATURE, BUCKET, TILES[LEVEL], function)


def target() -> tvm.target.Target:
    return tvm.target.Target({"kind": "llvm", "mcpu": LEVEL})


def inputs(length: int) -> list[NDArray[np.float32]]:
    random = np.random.default_rng(length)
    return [random.standard_normal(tensor.concrete(length), np.float32) for tensor in SIGNATURE.inputs]


def run(executable: Any, function: str, *arguments: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return [output.numpy() for output in machine[function](*map(tvm.runtime.tensor, arguments))]
