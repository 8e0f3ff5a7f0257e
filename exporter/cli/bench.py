"""``kokoro-export bench``: it parses arguments and prints; the work is done elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from exporter.bench.results import BUNDLE, ENGINES, KOKORO_ONNX
from exporter.cli.terminal import BundleArgument, lengths, parts, reported_errors
from runtime_min.format.manifest import Manifest
from runtime_min.format.signatures import MINIMUM_LENGTH, STAGE_NAMES

if TYPE_CHECKING:
    from exporter.bench.measure import Options

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
        bool, typer.Option("--profile", help="Show the time of each stage and kernel, too.")
    ] = False,
    save_dir: Annotated[
        Path | None, typer.Option(help="Directory for bench.md, bench.json and bench.svg.")
    ] = None,
    onnx: Annotated[
        Path | None,
        typer.Option(help="kokoro's ONNX export; written there if there is none. By default made anew."),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Speak a text of 3,000 phonemes beside kokoro-onnx, too; takes minutes."
        ),
    ] = False,
    memory: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Instead of all that: speak N utterances in one process, and see that memory stays flat.",
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
    shortest, longest = parse_range(memory_tokens)
    if min(used) < 1:
        raise typer.BadParameter(f"expected 1 or more, found {threads!r}", param_hint="--threads")
    if onnx is not None and not onnx.absolute().parent.is_dir():
        raise typer.BadParameter(f"expected a directory at {onnx.absolute().parent}", param_hint="--onnx")
    with reported_errors():
        from exporter.bench.engines import check_installed
        from exporter.bench.measure import Options, measure
        from exporter.bench.report import as_terminal, prepare, save

        if memory is None:
            check_installed([*measured, *([KOKORO_ONNX] if stream else [])])
        if save_dir is not None:
            prepare(save_dir)
        manifest, level = check_bundle(path, cpu_level)
        _check_lengths(manifest, (shortest, longest) if memory else spoken)
        unique = tuple(dict.fromkeys(spoken)), tuple(dict.fromkeys(used))
        options = Options(
            path, manifest, level, *unique, repeats, measured, profile, checkpoint, config, onnx, stream
        )
        if memory is not None:
            _watch_memory(options, memory, shortest, longest, save_dir)
            return
        with shown_progress() as tell:
            report = measure(options, tell)
        console = Console()
        console.print(as_terminal(report, console.width))
        if save_dir is not None:
            for file in save(report, save_dir):
                typer.echo(f"saved {file}")


def parse_engines(text: str) -> tuple[str, ...]:
    """The engines named, in their usual order.

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
    """The two numbers of ``3-200``.

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


def check_bundle(path: Path, level: str | None) -> tuple[Manifest, str]:
    """The manifest of a bundle that can speak here, and the CPU level to measure.

    Raises:
        BundleError: it is no bundle.
        MachineError: it is for another machine.
        MissingStagesError: it is a partial bundle.
    """
    from runtime_min.engine.machine import check_target, choose_level, this_machine
    from runtime_min.errors import MissingStagesError
    from runtime_min.format.verify import read_manifest

    manifest = read_manifest(path)
    machine = this_machine()
    check_target(manifest.target, machine)
    chosen = choose_level(manifest.target.levels, machine.features, level)
    present = [stage.name for stage in manifest.stages]
    if missing := [name for name in STAGE_NAMES if name not in present]:
        raise MissingStagesError(missing, present)
    return manifest, chosen.name


def _check_lengths(manifest: Manifest, tokens: tuple[int, ...]) -> None:
    from exporter.export.plan import OptionError

    most = min(
        max(library.bucket for library in stage.libraries)
        for stage in manifest.stages
        if stage.axis == "tokens"
    )
    if not MINIMUM_LENGTH <= min(tokens) <= max(tokens) <= most:
        raise OptionError(
            f"The bundle speaks {MINIMUM_LENGTH} to {most} tokens, the boundaries counted, found "
            f"{','.join(map(str, tokens))}: name other lengths, or export with larger --text-buckets."
        )


def _watch_memory(
    options: Options, utterances: int, shortest: int, longest: int, save_dir: Path | None
) -> None:
    from dataclasses import replace

    from exporter.bench.engines import EngineProcess
    from exporter.bench.measure import make_engines
    from exporter.bench.report import save_soak
    from exporter.bench.soak import LIMIT, MemoryGrewError, soak
    from exporter.bench.utterances import phonemes_of
    from runtime_min.format.signatures import SAMPLE_RATE

    vocabulary = options.manifest.vocabulary
    with shown_progress() as tell:
        (engine,) = make_engines(replace(options, engines=(BUNDLE,)), Path(), tell).values()
        with EngineProcess(engine) as process:
            found = soak(
                process, utterances, shortest, longest,
                lambda tokens, seed: phonemes_of(tokens, vocabulary, seed), SAMPLE_RATE, tell,
            )  # fmt: skip
    typer.echo(
        f"{found.utterances} utterances of {shortest} to {longest} tokens, {found.audio_seconds:.0f} s of "
        f"audio in {found.seconds:.0f} s: {found.samples[-1].bytes / 1e6:.1f} MB resident, "
        f"{found.growth / 1e6:+.1f} MB since utterance {found.settled}, allowed {LIMIT / 1e6:.0f} MB"
    )
    if save_dir is not None:
        for file in save_soak(found, save_dir):
            typer.echo(f"saved {file}")
    if not found.flat:
        raise MemoryGrewError(
            f"Memory is not flat: expected at most {LIMIT / 1e6:.0f} MB more, "
            f"found {found.growth / 1e6:.1f} MB."
        )


@contextmanager
def shown_progress() -> Iterator[Callable[[str], None]]:
    """Yields what shows a line for each step on standard error, and at a terminal what runs now."""
    console = Console(stderr=True)
    with console.status("start") as status:

        def tell(text: str) -> None:
            console.print(text, markup=False, highlight=False)
            status.update(escape(text))

        yield tell
