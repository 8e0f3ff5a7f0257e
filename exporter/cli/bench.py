"""``kokoro-export bench``: measures a bundle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from exporter.bench.results import BUNDLE, ENGINES, KOKORO_ONNX
from exporter.cli.terminal import BundleArgument, ConsoleProgress, lengths, parts, reported_errors
from runtime_min.format.signatures import MINIMUM_LENGTH

if TYPE_CHECKING:
    from exporter.bench.options import Options

TOKENS, THREADS, ROUNDS = (12, 62, 200, 450), (1, 2), 7


def bench(
    path: BundleArgument,
    tokens: Annotated[str, typer.Option(help="Lengths to speak, in tokens, joined by commas.")] = ",".join(
        map(str, TOKENS)
    ),
    threads: Annotated[str, typer.Option(help="Numbers of threads, joined by commas.")] = ",".join(
        map(str, THREADS)
    ),
    repeats: Annotated[int, typer.Option(help="Interleaved rounds of every length.", min=1)] = ROUNDS,
    engines: Annotated[
        str, typer.Option(help="What to measure, joined by commas; onnxruntime needs the extra bench.")
    ] = ",".join(ENGINES),
    profile: Annotated[
        bool, typer.Option("--profile", help="Also measure the time of each stage and kernel.")
    ] = False,
    save_dir: Annotated[
        Path | None, typer.Option(help="Directory for bench.md, bench.json and bench.svg.")
    ] = None,
    onnx: Annotated[
        Path | None,
        typer.Option(help="kokoro's ONNX export; written there if missing. By default exported anew."),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Also speak a text of 3,000 phonemes beside kokoro-onnx; takes minutes."
        ),
    ] = False,
    memory: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Only speak N utterances in one process, and check that memory stays flat.",
            min=2,
        ),
    ] = None,
    memory_tokens: Annotated[
        str, typer.Option(metavar="LEAST-MOST", help="Lengths of the utterances of --memory.")
    ] = "3-200",
    cpu_level: Annotated[
        str | None, typer.Option(help="CPU level of the bundle; by default the best of this machine.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="hub, synthetic or a .pth file; by default what the bundle was made from."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The config.json that belongs to a .pth file.")] = None,
) -> None:
    """Measure a bundle beside kokoro in PyTorch and in ONNX Runtime: time, memory, sizes, kernels."""
    spoken = lengths("--tokens", tokens)
    used = lengths("--threads", threads)
    measured = parse_engines(engines)
    memory_range = parse_range(memory_tokens)
    if min(used) < 1:
        raise typer.BadParameter(f"expected 1 or more, found {threads!r}", param_hint="--threads")
    if onnx is not None and not onnx.absolute().parent.is_dir():
        raise typer.BadParameter(f"expected a directory at {onnx.absolute().parent}", param_hint="--onnx")
    with reported_errors():
        from exporter.bench.engines import check_installed
        from exporter.bench.options import Options, check_bundle, check_lengths
        from exporter.bench.report import as_terminal, prepare, save
        from exporter.bench.run import run

        if memory is None:
            check_installed([*measured, *([KOKORO_ONNX] if stream else [])])
        if save_dir is not None:
            prepare(save_dir)
        manifest, level = check_bundle(path, cpu_level)
        check_lengths(manifest, memory_range if memory else spoken)
        unique = tuple(dict.fromkeys(spoken)), tuple(dict.fromkeys(used))
        options = Options(
            path, manifest, level, *unique, repeats, measured, profile, checkpoint, config, onnx, stream
        )
        if memory is not None:
            _watch_memory(options, memory, memory_range, save_dir)
            return
        with ConsoleProgress() as progress:
            benchmark = run(options, progress.step)
        console = Console()
        console.print(as_terminal(benchmark, console.width))
        if save_dir is not None:
            for file in save(benchmark, save_dir):
                typer.echo(f"saved {file}")


def parse_engines(text: str) -> tuple[str, ...]:
    """Returns the engines that are named, in their usual order.

    Raises:
        typer.BadParameter: a name is unknown, or the bundle is not among them.
    """
    named = parts(text)
    if set(named) - set(ENGINES) or BUNDLE not in named:
        raise typer.BadParameter(
            f"expected {BUNDLE} and perhaps others of {', '.join(ENGINES)}, joined by commas, found {text!r}",
            param_hint="--engines",
        )
    return tuple(engine for engine in ENGINES if engine in named)


def parse_range(text: str) -> tuple[int, int]:
    """Returns the two numbers of ``3-200``.

    Raises:
        typer.BadParameter: it is something else.
    """
    least, _, most = text.partition("-")
    if not (least.isdecimal() and most.isdecimal() and MINIMUM_LENGTH <= int(least) <= int(most)):
        raise typer.BadParameter(
            f"expected two numbers from {MINIMUM_LENGTH} on, such as 3-200, found {text!r}",
            param_hint="--memory-tokens",
        )
    return int(least), int(most)


def _watch_memory(options: Options, utterances: int, lengths: tuple[int, int], save_dir: Path | None) -> None:
    from exporter.bench.engines import EngineProcess
    from exporter.bench.report import save_soak
    from exporter.bench.run import make_engines
    from exporter.bench.soak import MemoryGrewError, soak

    with ConsoleProgress() as progress:
        (engine,) = make_engines(replace(options, engines=(BUNDLE,)), Path(), progress.step).values()
        with EngineProcess(engine) as process:
            found = soak(process, utterances, lengths, options.manifest.vocabulary, progress.step)
    typer.echo(str(found))
    if save_dir is not None:
        for file in save_soak(found, save_dir):
            typer.echo(f"saved {file}")
    if not found.flat:
        raise MemoryGrewError(f"Memory is not flat: {found}.")
