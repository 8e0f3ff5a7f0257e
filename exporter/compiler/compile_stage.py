"""One library of a bundle, from the model's configuration to the linked file; runs in a worker process.

Weights are a library's arguments. The stage is built without them, so that no library can depend on them.
"""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import tvm

from exporter.compiler.cuda import fatbins
from exporter.compiler.import_stage import import_stage
from exporter.compiler.kernels.gpu.limits import LIMITS
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.kokoro_model import model_without_weights
from exporter.compiler.library import CompiledLibrary, Job
from exporter.compiler.link import link_library
from exporter.compiler.passes import compile_module
from exporter.compiler.precision import check_device
from exporter.compiler.stages import make_stage
from exporter.compiler.stages.layers import layout_of
from exporter.compiler.targets import CpuLevel, Target

# TVM generates code for the oldest GPU that is served; `cuda` compiles it for each of the newer ones.
_DEVICES: dict[str, dict[str, Any]] = {"metal": LIMITS, "cuda": {"arch": "sm_80", **LIMITS}}


def compile_stage(job: Job, path: Path, dump: Path | None = None) -> CompiledLibrary:
    """Compiles and links one stage for one bucket and CPU level.

    Args:
        job: the stage, and what it is compiled for.
        path: file to write.
        dump: a directory for the module after each pass.

    Raises:
        PassError: TVM cannot compile the stage.
        LinkerMissingError: no linker is installed.
        LinkError: the linker failed.
        CudaCompileError: NVIDIA's compiler refused a kernel.
        PrecisionError: the device cannot read weights of the precision.
    """
    check_device(job.precision, job.device)
    started = time.perf_counter()
    model = model_without_weights(job.config)
    module = make_stage(job.stage, model, job.target.separate_source, job.precision)
    tiles = tiles_of(job.level) if job.device == "cpu" else None
    parameters = tuple((name, layout_of(value)) for name, value in module.named_parameters())
    # TVM's importer wants parameters that have memory; nothing is written to it, so it takes no place.
    module.to_empty(device="cpu")
    imported = import_stage(module, job.signature, job.bucket, tiles, job.stage)
    if job.target.one_module:
        imported = imported.with_attr("system_lib_prefix", module_prefix(job.stage, job.bucket))
    with fatbins() if job.device == "cuda" else nullcontext():
        executable = compile_module(imported, tvm_target(job.target, job.level, job.device), dump)
    link_library(executable, path, job.target)
    return CompiledLibrary(job, path, parameters, time.perf_counter() - started)


def module_prefix(function: str, bucket: int) -> str:
    """Returns the beginning of the names of a library's functions in a module that holds several libraries.

    `runtime_native/engine/native.cpp` finds them by it. TVM 0.27 fails on prefixes of less than 8 bytes.
    """
    return f"kokoro_{function}_{bucket}_"


def tvm_target(target: Target, level: CpuLevel, device: str = "cpu") -> tvm.target.Target:
    """Returns TVM's description of one of a target's devices, whose host is a CPU level."""
    host: dict[str, Any] = {"kind": "llvm", "mtriple": target.triple, "mcpu": level.mcpu}
    if level.attributes:
        host["mattr"] = list(level.attributes)
    return tvm.target.Target(host if device == "cpu" else {"kind": device, **_DEVICES[device], "host": host})
