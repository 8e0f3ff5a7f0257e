"""``kokoro-export measure``: measures a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exporter.cli.terminal import BundleArgument, ConsoleProgress, lengths, plain_console, reported_errors
from runtime_min.format.signatures import MINIMUM_LENGTH
from runtime_min.output.console import print_line

if TYPE_CHECKING:
    from exporter.measure.options import Options

TOKENS, THREADS, ROUNDS = "12,62,200,450", "1,2", 7


def measure(
    path: BundleArgument,
    tokens: Annotated[str, typer.Option(help="Lengths to speak, in tokens, joined by commas.")] = TOKENS,
    threads: Annotated[str, typer.Option(help="Numbers of threads, joined by commas.")] = THREADS,
    repeats: Annotated[int, typer.Option(help="Rounds of every length.", min=1)] = ROUNDS,
    profile: Annotated[
        bool, typer.Option("--profile", help="Also measure the time of each stage and kernel.")
    ] = False,
    save_dir: Annotated[Path | None, typer.Option(help="Directory for bench.md and bench.json.")] = None,
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Also speak a text of 3,000 phonemes piece by piece; takes minutes."),
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
) -> None:
    """Measure a bundle on this machine: time, cold start, memory, sizes, kernels."""
    spoken, used = lengths("--tokens", tokens), thread_counts(threads)
    memory_range = parse_range(memory_tokens)
    with reported_errors():
        from exporter.measure.options import Options, check_bundle, check_lengths
        from exporter.measure.report import (
            all_facts,
            as_content,
            as_json,
            as_markdown,
            as_terminal,
            prepare,
            save,
        )
        from exporter.measure.run import run
        from exporter.measure.tables import tables

        if save_dir is not None:
            prepare(save_dir)
        manifest, level = check_bundle(path, cpu_level)
        check_lengths(manifest, memory_range if memory else spoken)
        options = Options(path, manifest, level, spoken, used, repeats, profile, stream)
        if memory is not None:
            _watch_memory(options, memory, memory_range, save_dir)
            return
        with ConsoleProgress() as progress:
            benchmark = run(options, progress.step)
        console, facts, shown = plain_console(), all_facts(benchmark), tables(benchmark)
        console.print(as_terminal(facts, shown, console.width))
        if save_dir is not None:
            introduction = "`kokoro-export measure` wrote this file; all figures are of one run."
            text = as_markdown(introduction, facts, (table.markdown() for table in shown))
            report = {"bench.md": text, "bench.json": as_json(as_content(benchmark))}
            for file in save(save_dir, report):
                print_line(f"saved {file}")


def thread_counts(text: str) -> tuple[int, ...]:
    """Returns the numbers of threads that are named.

    Raises:
        typer.BadParameter: it is something else.
    """
    counts = lengths("--threads", text)
    if min(counts) < 1:
        raise typer.BadParameter(f"expected 1 or more, found {text!r}", param_hint="--threads")
    return counts


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
    from exporter.measure.engine_process import EngineProcess
    from exporter.measure.report import as_json, save, soak_content
    from exporter.measure.run import bundle_engine
    from exporter.measure.soak import MemoryGrewError, soak

    with ConsoleProgress() as progress, EngineProcess(bundle_engine(options)) as process:
        found = soak(process, utterances, lengths, options.manifest.vocabulary, progress.step)
    print_line(str(found))
    if save_dir is not None:
        for file in save(save_dir, {"bench-memory.json": as_json(soak_content(found))}):
            print_line(f"saved {file}")
    if not found.flat:
        raise MemoryGrewError(f"Memory is not flat: {found}.")
