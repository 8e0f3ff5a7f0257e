"""The final waveform only: whether a bundle says what kokoro says, over a set of utterances."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from exporter.parity.figures import (
    Spread,
    Utterance,
    asked,
    chain_figures,
    duration_figures,
    level_figure,
    own_spread,
    speak_reference,
)
from exporter.reference.process import Array, Reference
from exporter.reference.process import Trace as ReferenceTrace
from runtime_min import Bundle
from runtime_min.engine.machine import choose_level, this_machine
from runtime_min.errors import ModelOutputError, OutputError
from runtime_min.format.manifest import Manifest
from runtime_min.format.signatures import FRAMES_PER_SECOND, SAMPLES_PER_FRAME
from runtime_min.model.chain import Trace
from runtime_min.model.distances import Figure

Told = Callable[[int, str], None]
"""Takes the number of utterances that are done, and what is done now."""

# Stands for equality to the bit, which has no finite number of decibels.
MOST_DECIBELS = 200.0
_SHOWN_PHONEMES = 28
_MISSED = "bold red"


@dataclass(frozen=True)
class Waveform:
    """What one utterance showed on one CPU level."""

    utterance: Utterance
    level: str
    """Name of the CPU level whose libraries spoke."""
    frames: int
    """40 a second; 0 where the bundle did not speak."""
    figures: tuple[Figure, ...]

    @property
    def missed(self) -> tuple[Figure, ...]:
        """The figures that are beyond their limits."""
        return tuple(figure for figure in self.figures if not figure.holds)

    @property
    def holds(self) -> bool:
        """Whether every figure is within its limit."""
        return not self.missed

    def __str__(self) -> str:
        said = self.utterance
        phonemes = said.phonemes
        if len(phonemes) > _SHOWN_PHONEMES:
            phonemes = phonemes[: _SHOWN_PHONEMES - 1] + "…"
        return f"{phonemes!r} ({said.voice}, speed {said.speed:g}, seed {said.seed}) on {self.level}"


def levels_here(manifest: Manifest, only: str | None = None) -> tuple[str, ...]:
    """Names of the bundle's CPU levels that this machine runs, best first.

    Args:
        manifest: the bundle's.
        only: the one to take.

    Raises:
        CpuLevelError: it runs none, or not that one.
    """
    features = this_machine().features
    best = choose_level(manifest.target.levels, features, only).name
    if only is not None:
        return (best,)
    return tuple(level.name for level in manifest.target.levels if features.issuperset(level.features))


@contextmanager
def loaded_levels(
    path: Path, levels: Sequence[str], threads: int | None = None
) -> Iterator[tuple[Bundle, ...]]:
    """The bundle at `path`, verified and loaded once for each of these CPU levels."""
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(Bundle.load(path, level=level, threads=threads, verify=number == 0))
            for number, level in enumerate(levels)
        )


def validate_waveforms(
    bundles: Sequence[Bundle],
    reference: Reference,
    precise: Reference,
    utterances: Sequence[Utterance],
    progress: Told = lambda done, what: None,
) -> tuple[Waveform, ...]:
    """Compares the final waveform of every utterance on every CPU level.

    Args:
        bundles: one bundle, loaded once for each level.
        reference: kokoro in float32; what it says is computed once for all levels.
        precise: kokoro in float64.
        utterances: what to say; `exporter.reference.utterances.check_utterances` has accepted them.
        progress: told before each utterance.

    Returns:
        By utterance, then by level.
    """
    found: list[Waveform] = []
    for done, utterance in enumerate(utterances):
        said = f"{utterance.voice}, {len(utterance.phonemes)} phonemes, speed {utterance.speed:g}"
        progress(done, f"utterance {done + 1} of {len(utterances)}: {said}")
        found.extend(_validate(bundles, reference, precise, utterance))
    progress(len(utterances), "done")
    return tuple(found)


def _validate(
    bundles: Sequence[Bundle], reference: Reference, precise: Reference, utterance: Utterance
) -> Iterator[Waveform]:
    traces = [_speak(bundle, utterance) for bundle in bundles]
    if any(trace is not None for trace in traces):
        given = asked(bundles[0], utterance)
        expected = speak_reference(reference, given, utterance)
        spread = own_spread(reference, precise, expected, given, utterance.seed)
    for bundle, trace in zip(bundles, traces, strict=True):
        level = bundle.level.name
        if trace is None:
            yield Waveform(utterance, level, 0, (_numbers(np.full(1, np.nan)),))
        else:
            figures = tuple(_figures(bundle, trace, utterance, expected, spread))
            yield Waveform(utterance, level, expected.audio.size // SAMPLES_PER_FRAME, figures)


def _speak(bundle: Bundle, utterance: Utterance) -> Trace | None:
    """What the bundle says; None where its durations are no numbers, so that it says nothing."""
    try:
        return bundle.trace(utterance.phonemes, utterance.voice, utterance.speed, utterance.seed)
    except ModelOutputError:
        return None


def _figures(
    bundle: Bundle, spoken: Trace, utterance: Utterance, expected: ReferenceTrace, spread: Spread
) -> Iterator[Figure]:
    yield _numbers(spoken.audio)
    durations = tuple(duration_figures(spoken.durations, expected, utterance.speed))
    yield from durations
    audio = spoken.audio
    if audio.shape != expected.audio.shape and all(figure.holds for figure in durations):
        # A half was rounded the other way, as it may be: only with equal durations can the rest be judged.
        said = (utterance.phonemes, utterance.voice, utterance.speed, utterance.seed)
        audio = bundle.trace(*said, durations=expected.frames).audio
    if audio.shape == expected.audio.shape and np.isfinite(audio).all():
        yield from chain_figures(audio, expected.audio, spread)
        yield level_figure(audio, expected.audio, spread)


def _numbers(audio: Array) -> Figure:
    return Figure("samples are numbers", float(np.isfinite(audio).mean()), 1, at_least=True)


def verdict(waveforms: Sequence[Waveform], bundle: Path) -> str:
    """The outcome in one line; where something is missed, what, where, and what to do."""
    levels = ", ".join(dict.fromkeys(waveform.level for waveform in waveforms))
    count = len({waveform.utterance for waveform in waveforms})
    missed = [waveform for waveform in waveforms if not waveform.holds]
    if not missed:
        said = "1 utterance is" if count == 1 else f"{count} utterances are"
        return f"{bundle} says what kokoro says: {said} within every threshold on {levels}."
    worst = missed[0]
    return (
        f"{bundle} differs from kokoro: {len(missed)} of {len(waveforms)} waveforms miss a threshold, "
        f"the first is {worst}: {'; '.join(map(_expectation, worst.missed))}. To see where it comes from: "
        f"kokoro-export validate steps {bundle} {_options(worst.utterance)} --cpu-level {worst.level}"
    )


def _options(said: Utterance) -> str:
    """An utterance as a shell takes it."""
    values = {
        "phonemes": said.phonemes,
        "voice": said.voice,
        "speed": f"{said.speed:g}",
        "seed": str(said.seed),
    }
    return " ".join(f"--{option} {shlex.quote(value)}" for option, value in values.items())


def _expectation(figure: Figure) -> str:
    relation = "at least" if figure.at_least else "at most"
    return f"{figure.name} is {figure.value:.4g}, expected {relation} {figure.limit:.4g}"


_FIGURES = {
    "chain, dB": "SNR, dB",
    "chain, log-mel over another seed's": "log-mel",
    "level, dB off": "level, dB",
}
"""Heading of each figure; the distance over the own spread says the same as the ratio."""


def as_tables(waveforms: Sequence[Waveform]) -> Iterator[Table]:
    """Every waveform with its figures and limits, a table for each CPU level; what is missed stands out."""
    for level in dict.fromkeys(waveform.level for waveform in waveforms):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=level, title_justify="left")
        table.add_column("phonemes")
        for heading in ("voice", "speed", "s", "lengths", *_FIGURES.values()):
            table.add_column(heading, no_wrap=True, justify="right" if heading in ("speed", "s") else "left")
        for waveform in waveforms:
            if waveform.level == level:
                table.add_row(*_row(waveform))
        yield table


def _row(waveform: Waveform) -> Iterator[Text]:
    said = waveform.utterance
    by_name = {figure.name: figure for figure in waveform.figures}
    # Text, because what a file brings is no markup; alone among the columns it may be cut off.
    yield Text(said.phonemes, style="" if waveform.holds else _MISSED, no_wrap=True, overflow="ellipsis")
    yield Text(said.voice)
    yield Text(f"{said.speed:g}")
    yield Text(f"{waveform.frames / FRAMES_PER_SECOND:.2f}")
    yield _durations(by_name)
    for name in _FIGURES:
        yield _cell(by_name.get(name))


def _durations(figures: Mapping[str, Figure]) -> Text:
    if not figures["samples are numbers"].holds:
        return Text("not finite", style=_MISSED)
    wrong = figures["durations that differ"]
    if not wrong.holds:
        return Text(f"{wrong.value:.0f} differ", style=_MISSED)
    other_way = figures["durations rounded the other way"].value
    return Text(f"{other_way:.0f} at a half" if other_way else "equal")


def _cell(figure: Figure | None) -> Text:
    if figure is None:
        return Text("none", style=_MISSED)
    relation = "≥" if figure.at_least else "≤"
    digits = 1 if figure.at_least else 2
    text = f"{figure.value:.{digits}f} {relation} {figure.limit:.{digits}f}"
    return Text(text, style="" if figure.holds else _MISSED)


def as_json(waveforms: Sequence[Waveform]) -> list[dict[str, Any]]:
    """The same for programs, with finite numbers or null."""
    return [
        {
            **asdict(waveform.utterance),
            "cpu_level": waveform.level,
            "seconds": waveform.frames / FRAMES_PER_SECOND,
            "holds": waveform.holds,
            "figures": [
                {
                    "name": figure.name,
                    "value": _finite(figure.value),
                    "limit": _finite(figure.limit),
                    "at_least": figure.at_least,
                    "holds": figure.holds,
                }
                for figure in waveform.figures
            ],
        }
        for waveform in waveforms
    ]


def write_json(path: Path, waveforms: Sequence[Waveform], bundle: Path) -> None:
    """Writes `as_json` and the verdict.

    Raises:
        OutputError: the file cannot be written.
    """
    content = {"bundle": str(bundle), "verdict": verdict(waveforms, bundle), "waveforms": as_json(waveforms)}
    try:
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}. Choose another place.") from error


def _finite(value: float) -> float | None:
    if math.isnan(value):
        return None
    return math.copysign(MOST_DECIBELS, value) if math.isinf(value) else value
