"""One library of a bundle, from checkpoint to linked file; runs in a worker process."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import tvm

from exporter.compiler.cuda import fatbins
from exporter.compiler.import_stage import Weight, import_stage, stage_weights
from exporter.compiler.kernels.gpu.limits import LIMITS
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.link import link_library
from exporter.compiler.passes import compile_module
from exporter.compiler.stages import make_stage
from exporter.compiler.targets import CpuLevel, Target, find_target
from exporter.model.checkpoint import Checkpoint
from exporter.model.checkpoint import load as load_checkpoint
from runtime_min.format.signatures import signatures

# TVM generates code for the oldest GPU that is served; `cuda` compiles it for each of the newer ones.
_DEVICES: dict[str, dict[str, Any]] = {"metal": LIMITS, "cuda": {"arch": "sm_80", **LIMITS}}


@dataclass(frozen=True)
class BuildRequest:
    """What a worker is asked for; plain values, so that it can be sent to another process."""

    checkpoint: str
    config: str | None
    stage: str
    bucket: int
    target: str
    level: str
    output: str
    """Path of the library to write."""
    dump_ir: str | None
    """Directory for the module after each pass."""
    device: str = "cpu"
    """Where the stage computes: ``cpu``, ``metal`` or ``cuda``."""


@dataclass(frozen=True)
class BuildResult:
    """A compiled library."""

    stage: str
    bucket: int
    level: str
    library: str
    function: str
    parameters: tuple[tuple[str, str], ...]
    """Name and layout of each parameter, in call order."""
    seconds: float


def build_stage(request: BuildRequest) -> BuildResult:
    """Compiles and links one stage for one bucket and CPU level.

    Raises:
        ExportError: the checkpoint cannot be loaded, or the linker fails.
    """
    started = time.perf_counter()
    target = find_target(request.target)
    level = next(level for level in target.levels if level.name == request.level)
    checkpoint = _checkpoint(request.checkpoint, request.config)
    module = make_stage(request.stage, checkpoint.model, target.source_apart)
    sizes = checkpoint.config["hidden_dim"], checkpoint.config["style_dim"]
    signature = signatures(*sizes, target.source_apart)[request.stage]
    tiles = tiles_of(level) if request.device == "cpu" else None
    imported = import_stage(module, signature, request.bucket, tiles, request.stage)
    dump = Path(request.dump_ir) if request.dump_ir else None
    with fatbins() if request.device == "cuda" else nullcontext():
        executable = compile_module(imported, tvm_target(target, level, request.device), dump)
    link_library(executable, Path(request.output), target)
    parameters = tuple((weight.name, weight.layout) for weight in stage_weights(module))
    return BuildResult(
        request.stage, request.bucket, request.level, request.output, request.stage, parameters,
        time.perf_counter() - started,
    )  # fmt: skip


def stage_parameters(checkpoint: Checkpoint, stage: str, source_apart: bool) -> list[Weight]:
    """The weights of a stage as a bundle stores them, in call order."""
    return stage_weights(make_stage(stage, checkpoint.model, source_apart))


def tvm_target(target: Target, level: CpuLevel, device: str = "cpu") -> tvm.target.Target:
    """TVM's description of one of a target's devices, whose host is a CPU level."""
    host = {"kind": "llvm", "mtriple": target.triple, "mcpu": level.mcpu}
    return tvm.target.Target(host if device == "cpu" else {"kind": device, **_DEVICES[device], "host": host})


@lru_cache(maxsize=1)
def _checkpoint(source: str, config: str | None) -> Checkpoint:
    """A worker builds several stages of one checkpoint."""
    return load_checkpoint(source, Path(config) if config else None)
