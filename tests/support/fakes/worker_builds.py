"""Builds of libraries that compile nothing; workers of an export import them, and so they import little."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from exporter.compiler.library import CompiledLibrary, Job


def build(job: Job, path: Path, dump: Path | None = None) -> CompiledLibrary:
    """Writes a library with its own name."""
    path.write_bytes(f"{job.stage} {job.bucket} {job.level.name} GLIBC_2.17".encode())
    return CompiledLibrary(job, path, (("weight", "row-major"), ("bias", "row-major")), 0.5)


def slow_build(job: Job, path: Path, dump: Path | None) -> CompiledLibrary:
    """Takes a while, with a temporary directory."""
    with tempfile.TemporaryDirectory():
        time.sleep(0.02)
        return build(job, path)
