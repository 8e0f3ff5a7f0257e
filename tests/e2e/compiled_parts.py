"""Compiles two parts of the decoder that no bundle has as libraries of their own, and runs them.

    python compiled_parts.py CHECKPOINT CONFIG DIRECTORY LEVEL

For every ``inputs-N.npz`` in the directory it writes ``outputs-N.npz``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tvm
from numpy.typing import NDArray
from torch import Tensor, nn
from tvm import relax

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.import_stage import import_stage, stage_weights
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.passes import compile_module
from exporter.compiler.stages.audio import DecoderBody, Generator
from exporter.compiler.targets import find_target
from exporter.model.checkpoint import load
from runtime_min.engine.machine import this_machine
from runtime_min.format.signatures import StageSignature, TensorSignature

BUCKET = 512
FRAMES, HALF_FRAMES = (1, "frames"), (2, "frames")
HIDDEN = TensorSignature("hidden", "float32", (1, 512, HALF_FRAMES))
STYLE = TensorSignature("style", "float32", (1, 128))
BODY = StageSignature(
    "body",
    "frames",
    3,
    (
        TensorSignature("asr", "float32", (1, 512, FRAMES)),
        TensorSignature("f0", "float32", (1, HALF_FRAMES)),
        TensorSignature("energy", "float32", (1, HALF_FRAMES)),
        STYLE,
    ),
    (HIDDEN,),
)
# Its length is half frames: TVM wants an input that carries the bare length.
GENERATOR = StageSignature(
    "generator",
    "half_frames",
    6,
    (
        TensorSignature("hidden", "float32", (1, 512, (1, "half_frames"))),
        STYLE,
        TensorSignature("spectrum", "float32", (1, 22, (60, "half_frames"))),
        TensorSignature("last_column", "float32", (1, 22, 1)),
    ),
    (TensorSignature("audio", "float32", (1, (300, "half_frames"))),),
)


class JoinedGenerator(nn.Module):
    """The generator; the spectrum's last column comes alone: signatures have only multiples of the length."""

    def __init__(self, generator: nn.Module) -> None:
        super().__init__()
        self.generator = Generator(generator)

    def forward(self, hidden: Tensor, style: Tensor, spectrum: Tensor, last_column: Tensor) -> Tensor:
        audio: Tensor = self.generator(hidden, style, torch.cat([spectrum, last_column], dim=2))
        return audio


Arrays = Mapping[str, NDArray[np.float32]]


def run(module: nn.Module, signature: StageSignature, level_name: str, given: Sequence[Arrays]) -> list[Any]:
    """Compiles `module` and returns its output for each of the `given` inputs."""
    target = find_target("host", this_machine())
    level = next(level for level in target.levels if level.name == level_name)
    imported = import_stage(module.eval(), signature, BUCKET, tiles_of(level), signature.name)
    machine = relax.VirtualMachine(compile_module(imported, tvm_target(target, level)), tvm.cpu())
    weights = [tvm.runtime.tensor(weight.values) for weight in stage_weights(module)]

    def call(arrays: Arrays) -> Any:
        inputs = [tvm.runtime.tensor(arrays[each.name]) for each in signature.inputs]
        return machine[signature.name](*inputs, *weights).numpy()

    return [call(arrays) for arrays in given]


def main(checkpoint: str, config: str, directory: str, level: str) -> None:
    """Writes the outputs of both parts."""
    decoder = load(checkpoint, Path(config)).model.decoder
    inputs = sorted(Path(directory).glob("inputs-*.npz"))
    given = [dict(np.load(path)) for path in inputs]
    for arrays in given:
        whole = arrays.pop("spectrum")
        arrays["spectrum"] = np.ascontiguousarray(whole[:, :, :-1])
        arrays["last_column"] = np.ascontiguousarray(whole[:, :, -1:])
    hidden = run(DecoderBody(decoder), BODY, level, given)
    audio = run(JoinedGenerator(decoder.generator), GENERATOR, level, given)
    for path, one_hidden, one_audio in zip(inputs, hidden, audio, strict=True):
        output = path.with_name(path.name.replace("inputs", "outputs"))
        np.savez(output, hidden=one_hidden, audio=one_audio)


if __name__ == "__main__":
    main(*sys.argv[1:])
