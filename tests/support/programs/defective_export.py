"""Exports a bundle to OUTPUT with a defective library, named by two variables of the environment."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from exporter.cli.terminal import ConsoleProgress
from exporter.compiler.compile_stage import compile_stage
from exporter.compiler.library import CompiledLibrary, Job
from exporter.export.plan import ExportOptions
from exporter.export.run import export_bundle
from exporter.parity.publish import Gate
from runtime_min.command_line import exit_code

LIBRARY, STAGE = "DEFECTIVE_LIBRARY", "DEFECTIVE_STAGE"


def build(job: Job, path: Path, dump: Path | None) -> CompiledLibrary:
    """Compiles a stage, and takes the defective library for one of them."""
    result = compile_stage(job, path, dump)
    if job.stage == os.environ[STAGE]:
        shutil.copyfile(os.environ[LIBRARY], path)
    return result


def export(output: str) -> None:
    """Exports as the command does."""
    options = ExportOptions(
        output=Path(output),
        checkpoint="synthetic",
        cpu_level="host",
        frame_buckets=(512,),
        native=False,
        cache=None,
    )
    with Gate() as gate:
        export_bundle(options, ConsoleProgress(), measure=gate.measure, build=build)


if __name__ == "__main__":
    sys.exit(exit_code(lambda: export(*sys.argv[1:])))
