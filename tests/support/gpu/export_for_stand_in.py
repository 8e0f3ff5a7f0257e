"""Exports a bundle for a GPU whose host is this machine: KIND LSTM_DEVICE DEVICE_LIBRARY CPU_BUNDLE OUTPUT.

What a bundle for a Mac or a CUDA machine computes on its GPU is exported as it is for them. DEVICE_LIBRARY
plays the GPU. The CPU's stages are those of CPU_BUNDLE, which was exported for this machine.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.cli.terminal import ConsoleProgress
from exporter.compiler import compile_stage as compiler
from exporter.compiler import link, targets
from exporter.compiler.compile_stage import compile_stage
from exporter.compiler.library import CompiledLibrary, Job
from exporter.compiler.targets import RuntimeFile, Target, find_target
from exporter.export import plan
from exporter.export.plan import ExportOptions
from exporter.export.run import export_bundle
from exporter.parity.publish import Gate
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest

SHIPPED = {"metal": "metal-macos", "cuda": "cuda-linux"}
TEXT_BUCKET, FRAME_BUCKET = 32, 64


def with_this_host(shipped: Target, library: Path) -> Target:
    """The target as if its host were this machine, and `library` TVM's runtime of its device."""
    device_runtime = RuntimeFile(library.name, hashlib.sha256(library.read_bytes()).hexdigest())
    host = find_target("host")
    return replace(host, name=shipped.name, device=shipped.device, device_runtime=device_runtime)


def builder(cpu: Path) -> Any:
    """Compiles the stages that a bundle for this machine does not have as they are, and copies the others."""
    manifest: Manifest = read_manifest(cpu)
    layouts = {tensor.name: tensor.layout for tensor in manifest.parameters.tensors}
    stages = {stage.name: stage for stage in manifest.stages}

    def made(job: Job, path: Path, dump: Path | None) -> CompiledLibrary:
        if job.device != "cpu" or job.stage not in stages:
            return compile_stage(job, path, dump)
        stage = stages[job.stage]
        library = stage.buckets(job.level.name)[job.bucket]
        shutil.copyfile(cpu / library.file, path)
        parameters = tuple((name.partition(".")[2], layouts[name]) for name in stage.parameters)
        return CompiledLibrary(job, path, parameters)

    return made


def main(kind: str, lstm_device: str, device_library: str, cpu: str, output: str) -> None:
    """Exports as the command does, in this process."""
    library = Path(device_library)
    target = with_this_host(find_target(SHIPPED[kind]), library)
    targets.TARGETS = tuple(target if row.name == target.name else row for row in targets.TARGETS)
    plan.runtime_libraries = lambda *_: {library.name: library}
    if kind == "cuda":
        # The stand-in takes the source that the fatbin is made of.
        compiler.fatbins, link.mark_compiled = nullcontext, lambda objects: None
    manifest = read_manifest(Path(cpu))
    options = ExportOptions(
        output=Path(output),
        checkpoint="packages",
        target=target.name,
        precision=manifest.precision,
        cpu_level=manifest.target.levels[0].name,
        lstm_device=lstm_device,
        text_buckets=(TEXT_BUCKET,),
        frame_buckets=(FRAME_BUCKET,),
        runtime_library=library,
        native=False,
        cache=None,
    )
    with Gate() as gate:
        export_bundle(
            options,
            ConsoleProgress(),
            self_test=gate.self_test,
            build=builder(Path(cpu)),
            pool=lambda _: ThreadPoolExecutor(1),
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
