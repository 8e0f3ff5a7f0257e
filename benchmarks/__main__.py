"""``make bench``: compares a bundle with other engines and writes docs/measured/bench.*.

Without a bundle, the weights of the packages are exported in each precision with the default buckets: an
older bundle would show the speed of older kernels. The default precision is exported without the cache, and
this export is timed; its bundle stays as bundles/kokoro if there is none. The tables that README.md and
documents beside the report quote are replaced there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.engines import check_installed
from benchmarks.report import contents, facts, quoted
from benchmarks.run import run
from benchmarks.tables import tables
from exporter.cli.demo import BUNDLE
from exporter.cli.measure import THREADS, TOKENS, thread_counts
from exporter.cli.terminal import ConsoleProgress, lengths, reported_errors
from exporter.compiler.precision import PRECISIONS
from exporter.compiler.targets import CpuLevel, find_target
from exporter.measure.options import Options, check_bundle, check_lengths
from exporter.measure.report import as_terminal, prepare, save
from exporter.reference.files import reference_files
from runtime_min.engine.machine import levels_that_run, this_machine

ROUNDS = 7
QUOTING = ("../speed.md", "../../README.md")
"""Documents that quote tables, from the directory of the report."""


def main(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[BUNDLE]...",
            help="The bundle of the goals, and others of its checkpoint; by default new ones.",
        ),
    ] = None,
    tokens: Annotated[str, typer.Option(help="Lengths to speak, in tokens, joined by commas.")] = TOKENS,
    threads: Annotated[
        str, typer.Option(help="Numbers of threads, joined by commas; fewer than the most at one length.")
    ] = THREADS,
    repeats: Annotated[int, typer.Option(help="Interleaved rounds of every length.", min=1)] = ROUNDS,
    stream: Annotated[bool, typer.Option(help="Also stream a long text, beside kokoro-onnx.")] = True,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="hub, packages, synthetic or a file; by default what the bundle was made from."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The config.json that belongs to a file.")] = None,
    save_dir: Annotated[Path, typer.Option(help="Directory for the report.")] = Path("docs/measured"),
) -> None:
    """Compare bundles with kokoro in PyTorch and in ONNX Runtime, and with kokoro-onnx."""
    measured = lengths("--tokens", tokens), thread_counts(threads), repeats
    with reported_errors():
        check_installed()
        prepare(save_dir)
        BUNDLE.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".bench-", dir=BUNDLE.parent) as directory:
            bundles, seconds = paths or [], None
            if not bundles:
                bundles = [Path(directory) / precision for precision in _precisions()]
                seconds = _export(bundles[0], "--no-cache")
                for bundle in bundles[1:]:
                    _export(bundle)
                for level in _arithmetic_levels():
                    _export(bundles[0], "--arithmetic", level.arithmetic)
            options, *others = (_options(bundle, measured, stream) for bundle in bundles)
            others += [_options(bundles[0], measured, stream, name) for name in _other_levels(options)]
            files = reference_files(options.manifest, checkpoint, config)
            with ConsoleProgress() as progress:
                comparison = run(options, others, *files, progress.step, seconds)
            console = Console()
            found = tables(comparison)
            console.print(as_terminal(facts(comparison), found, console.width))
            documents = {name: save_dir / name for name in QUOTING if (save_dir / name).exists()}
            quotes = {name: quoted(path.read_text("utf-8"), found) for name, path in documents.items()}
            for file in save(save_dir, contents(comparison) | quotes):
                typer.echo(f"saved {file}")
            if not paths and not BUNDLE.exists():
                shutil.move(bundles[0], BUNDLE)


def _precisions() -> list[str]:
    """Returns the precisions, the default first."""
    default = find_target("host", this_machine()).precision
    return sorted(PRECISIONS, key=lambda precision: precision != default)


def _arithmetic_levels() -> list[CpuLevel]:
    """Returns the levels of this machine with another arithmetic than float32."""
    return levels_that_run(find_target("host").arithmetic_levels, this_machine().features)


def _other_levels(options: Options) -> list[str]:
    """Returns the names of those that the bundle has."""
    here = [level.name for level in _arithmetic_levels()]
    return [level.name for level in options.manifest.target.levels if level.name in here]


def _options(
    bundle: Path,
    measured: tuple[tuple[int, ...], tuple[int, ...], int],
    stream: bool,
    level_name: str | None = None,
) -> Options:
    manifest, level = check_bundle(bundle, level_name)
    check_lengths(manifest, measured[0])
    return Options(bundle, manifest, level, *measured, profile=True, stream=stream)


def _export(output: Path, *options: str) -> float:
    """Exports the precision that a path ends with.

    Returns:
        The seconds that it took, validation included.
    """
    options += ("--checkpoint", "packages", "--precision", output.name, "-o", str(output))
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "exporter", "bundle", *options])
    if done.returncode != 0:
        sys.exit(done.returncode)
    return time.perf_counter() - started


if __name__ == "__main__":
    typer.run(main)
