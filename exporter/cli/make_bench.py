"""``make bench``: exports a bundle of the synthetic checkpoint, measures it, and writes docs/bench.*.

The bundle is exported with the default buckets and without the cache, and then measured: an older one would
show the speed of older kernels. It stays as bundles/demo if there is none.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import typer
from rich.console import Console

from exporter.bench.engines import check_installed
from exporter.bench.options import Options, check_bundle
from exporter.bench.report import as_terminal, save
from exporter.bench.results import ENGINES, KOKORO_ONNX
from exporter.bench.run import run
from exporter.cli.bench import ROUNDS, THREADS, TOKENS
from exporter.cli.demo import BUNDLE
from exporter.cli.terminal import ConsoleProgress, reported_errors

_DOCUMENTS = Path("docs")


def main() -> None:
    """Runs `make bench` in the current directory."""
    with reported_errors():
        check_installed((*ENGINES, KOKORO_ONNX))
        BUNDLE.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".bench-", dir=BUNDLE.parent) as directory:
            bundle = Path(directory) / "bundle"
            seconds = _export(bundle)
            manifest, level = check_bundle(bundle, None)
            options = Options(
                bundle, manifest, level, TOKENS, THREADS, ROUNDS, ENGINES, profile=True, stream=True
            )
            with ConsoleProgress() as progress:
                benchmark = run(options, progress.step, export_seconds=seconds)
            console = Console()
            console.print(as_terminal(benchmark, console.width))
            for file in save(benchmark, _DOCUMENTS):
                typer.echo(f"saved {file}")
            if not BUNDLE.exists():
                shutil.move(bundle, BUNDLE)


def _export(output: Path) -> float:
    """Exports without a cache and returns the seconds that it took, validation included."""
    options = ("--checkpoint", "synthetic", "--no-cache", "-o", str(output))
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "exporter", "bundle", *options])
    if done.returncode != 0:
        sys.exit(done.returncode)
    return time.perf_counter() - started


if __name__ == "__main__":
    try:
        main()
    except typer.Exit as stopped:
        sys.exit(stopped.exit_code)
