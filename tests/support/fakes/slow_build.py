"""A build that takes a while; workers import it, and so it imports little."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from exporter.compiler.library import CompiledLibrary, Job


def slow_build(job: Job, path: Path, dump: Path | None) -> CompiledLibrary:
    """Writes a library."""
    with tempfile.TemporaryDirectory():
        time.sleep(0.02)
        path.write_bytes(f"{job.stage} {job.bucket} {job.level.name}".encode())
        return CompiledLibrary(job, path, (("weight", "row-major"),), 0.5)
