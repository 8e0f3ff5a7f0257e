"""``kokoro-export validate``: it parses arguments and prints; the work is done elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exporter.cli.terminal import (
    EPILOG,
    BundleArgument,
    ConsoleProgress,
    comma_separated,
    plain_console,
    reported_errors,
)
from runtime_min.format.signatures import MINIMUM_LENGTH, STAGE_NAMES
from runtime_min.output.console import print_line

if TYPE_CHECKING:
    from exporter.reference.padded import Tail

_MISSED = 8

app = typer.Typer(
    help="Compare a bundle with kokoro, and show where any difference comes from.",
    epilog=EPILOG,
)
CheckpointOption = Annotated[
    str | None,
    typer.Option(help="hub, packages, synthetic or a file; by default what the bundle was made from."),
]
ConfigOption = Annotated[Path | None, typer.Option(help="The config.json that belongs to a file.")]
UtterancesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="JSON list of objects with phonemes, voice, speed and perhaps seed."),
]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Neither store nor reuse results of kokoro.")]
ThreadsOption = Annotated[
    int | None, typer.Option(help="Threads of the bundle and of kokoro; by default all cores.", min=1)
]


@app.command(epilog=EPILOG)
def e2e(
    path: BundleArgument,
    utterances: UtterancesOption = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON too.")
    ] = None,
    cpu_level: Annotated[
        str | None, typer.Option(help="The CPU level to validate; by default all that this machine runs.")
    ] = None,
    checkpoint: CheckpointOption = None,
    config: ConfigOption = None,
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Compare the final waveform over a set of utterances: built in, or from a file."""
    _check_directory("--json", json)
    with reported_errors():
        from exporter.parity.waveforms import verdict
        from exporter.validate.e2e import as_tables, write_json
        from exporter.validate.run import Options, compare_end_to_end

        options = Options(path, utterances, cpu_level, checkpoint, config, threads, _answers(no_cache))
        with ConsoleProgress() as progress:
            found = compare_end_to_end(options, progress.doing)
        plain_console().print(*as_tables(found))
        if json is not None:
            write_json(json, found, path)
        print_line(verdict(found, path))
    if not all(comparison.holds for comparison in found):
        raise typer.Exit(_MISSED)


@app.command(epilog=EPILOG)
def steps(
    path: BundleArgument,
    phonemes: Annotated[
        list[str] | None, typer.Option(help="What to say, as misaki writes it; may be repeated.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="What to say, in the voice's language; needs its G2P (misaki).")
    ] = None,
    utterances: UtterancesOption = None,
    voice: Annotated[str | None, typer.Option(help="Voice of --phonemes and --text.")] = None,
    speed: Annotated[float | None, typer.Option(help="Speed of --phonemes and --text.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the noise of --phonemes and --text.")] = None,
    static_text_len: Annotated[
        int, typer.Option(help="Tokens that pt.static is padded to.", min=MINIMUM_LENGTH)
    ] = 512,
    static_frames: Annotated[
        int, typer.Option(help="Frames that pt.static is padded to.", min=MINIMUM_LENGTH)
    ] = 5120,
    cross: Annotated[bool, typer.Option("--cross", help="Both decoders on each execution's inputs.")] = False,
    prefix_f0n: Annotated[
        bool, typer.Option("--prefix-f0n", help="pt.static with F0 and N computed without padding.")
    ] = False,
    tails: Annotated[
        str | None, typer.Option(help="Kinds of padding, joined by commas: zeros, repeat, noise, nan.")
    ] = None,
    sweep_buckets: Annotated[
        bool, typer.Option("--sweep-buckets", help="The same utterance in each bucket.")
    ] = False,
    rounding: Annotated[
        bool, typer.Option("--rounding", help="The layers that suffer most from rounding.")
    ] = False,
    probe: Annotated[
        list[str] | None, typer.Option(help="A stage to compare block by block; may be repeated.")
    ] = None,
    save_dir: Annotated[
        Path | None, typer.Option(help="Directory for report.html, report.json, tensors and float WAVs.")
    ] = None,
    cpu_level: Annotated[
        str | None, typer.Option(help="The CPU level to validate; by default the best of this machine.")
    ] = None,
    checkpoint: CheckpointOption = None,
    config: ConfigOption = None,
    threads: ThreadsOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Compare every step of one or many utterances: PyTorch, PyTorch padded, and the bundle."""
    from exporter.validate.steps import Extras

    extras = Extras(cross, prefix_f0n, _tails(tails), sweep_buckets, _stages(probe or ()), rounding)
    if (
        utterances is not None
        and not phonemes
        and text is None
        and (voice, speed, seed) != (None, None, None)
    ):
        raise typer.BadParameter(
            "expected voice, speed and seed in the file of --utterances: the options belong to --phonemes "
            "and --text",
            param_hint="--voice, --speed, --seed",
        )
    _check_directory("--save-dir", save_dir)
    with reported_errors():
        from exporter.validate.report.save import check_replaceable, save
        from exporter.validate.report.terminal import show
        from exporter.validate.run import StepsOptions, compare_steps

        if save_dir is not None:
            check_replaceable(save_dir)
        options = StepsOptions(
            path, utterances, cpu_level, checkpoint, config, threads, _answers(no_cache),
            tuple(phonemes or ()), text, voice, speed, seed, static_text_len, static_frames, extras,
        )  # fmt: skip
        with ConsoleProgress() as progress:
            report = compare_steps(options, progress.doing)
        show(report, plain_console())
        if save_dir is not None:
            save(report, save_dir)
            print_line(f"saved {save_dir / 'report.html'}")
    if not report.holds:
        raise typer.Exit(_MISSED)


def _answers(no_cache: bool) -> Path | None:
    from exporter import directories

    return None if no_cache else directories.answers()


def _tails(text: str | None) -> tuple[Tail, ...]:
    from exporter.reference.padded import TAILS

    named = comma_separated(text or "")
    found = tuple(tail for tail in TAILS if tail in named)
    if text is not None and (not named or set(named) - set(TAILS)):
        raise typer.BadParameter(
            f"expected some of {', '.join(TAILS)}, joined by commas, found {text!r}", param_hint="--tails"
        )
    return found


def _stages(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in STAGE_NAMES:
            raise typer.BadParameter(
                f"expected one of {', '.join(STAGE_NAMES)}, found {name!r}", param_hint="--probe"
            )
    return tuple(dict.fromkeys(names))


def _check_directory(option: str, path: Path | None) -> None:
    """Refuses a place that cannot be written before anything slow runs."""
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"expected a directory at {path.absolute().parent}", param_hint=option)
