"""Two stages small enough to be compiled in seconds: kokoro's F0 and N predictor, and sums of neighbours."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import tvm
from numpy.typing import NDArray
from torch import Tensor, nn
from tvm import IRModule, relax

from exporter.compiler.import_stage import import_stage
from exporter.compiler.stages.audio import F0N
from exporter.compiler.stages.layers import Conv
from runtime_min.format.signatures import StageSignature, TensorSignature
from tests.support.kernels.on_cpu import LEVELS, TILES

HIDDEN, STYLE = 64, 32
BUCKET = 100
LEVEL = LEVELS[0]
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
    """The stage with random weights, the same ones each time."""
    # It takes seconds, which the sums do not need.
    from kokoro.modules import ProsodyPredictor

    with torch.random.fork_rng():
        torch.manual_seed(0)
        predictor = ProsodyPredictor(style_dim=STYLE, d_hid=HIDDEN, nlayers=1, max_dur=50, dropout=0)
    return F0N(SimpleNamespace(predictor=predictor)).eval()


class Sums(nn.Module):
    """Sums of neighbours of two signals, one five times as long as the other; one layer is not used."""

    SIGNATURE = StageSignature(
        "sums", "frames", 3,
        (
            TensorSignature("slow", "float32", (1, (1, "frames"))),
            TensorSignature("fast", "float32", (1, (5, "frames"))),
        ),
        (),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.unused = Conv(torch.zeros(64, 1, 1), None)
        self.conv = Conv(torch.ones(32, 1, 2), None)

    def forward(self, slow: Tensor, fast: Tensor) -> tuple[Tensor, Tensor]:
        """[1, n] and [1, 5 * n] to [1, 32, n - 1] and [1, 32, 5 * n - 1]."""
        return self.conv(slow[:, None]), self.conv(fast[:, None])


def imported(stage: nn.Module, function: str = "tiny", signature: StageSignature = SIGNATURE) -> IRModule:
    return import_stage(stage, signature, BUCKET, TILES[LEVEL], function)


def imported_sums(function: str) -> IRModule:
    return imported(Sums().eval(), function, Sums.SIGNATURE)


def target() -> tvm.target.Target:
    return tvm.target.Target({"kind": "llvm", "mcpu": LEVEL})


def inputs(length: int) -> list[NDArray[np.float32]]:
    random = np.random.default_rng(length)
    return [random.standard_normal(tensor.concrete(length), np.float32) for tensor in SIGNATURE.inputs]


def run(executable: Any, function: str, *arguments: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return [output.numpy() for output in machine[function](*map(tvm.runtime.tensor, arguments))]
