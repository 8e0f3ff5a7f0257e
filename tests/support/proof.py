"""The figures of this session's fidelity tests, as the table that `make prove` writes."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from exporter.parity.figures import Comparison
from runtime_min.engine.machine import this_machine
from runtime_min.model.distances import Figure

_COMPARISONS: list[tuple[str, Comparison]] = []

_TEXT = """# Proof

Written by `make prove` on {date}, {system}: {count} utterances, {missed} figures missed their limit.
A bundle of the synthetic checkpoint is compared with an unpatched `kokoro.KModel` (float32) on the same
noise, and with the same rounded weights where the bundle's are rounded. A cell has a figure and its limit.
`exporter/parity/figures.py` defines the figures, `exporter/parity/thresholds.py` the limits.

"""
_SHORT = {
    "durations that differ": "other durations",
    "durations rounded the other way": "at a half",
    "durations before rounding": "durations",
    "f0, distance from float64 over PyTorch's": "F0 / own",
    "energy, distance from float64 over PyTorch's": "N / own",
    "chain, distance over own spread": "chain / own spread",
    "chain, log-mel over another seed's": "log-mel",
}


def record(comparison: Comparison, precision: str = "float32") -> None:
    """Adds a row, and writes the table where `make prove` asks for it: an interrupted run keeps its rows."""
    _COMPARISONS.append((precision, comparison))
    if path := os.environ.get("KOKORO_EXPORT_PROOF"):
        Path(path).write_text(as_markdown(), encoding="utf-8")


def assert_all_hold(comparison: Comparison, precision: str = "float32") -> None:
    """Every figure is within its limit, and none is missing, as happens where the durations differ."""
    record(comparison, precision)
    listed = "\n".join(map(str, comparison.figures))
    assert not comparison.missed, f"{comparison.utterance}, {comparison.frames} frames:\n{listed}"
    assert len(comparison.figures) == 14, listed


def as_markdown() -> str:
    """The table of all comparisons, by precision and then in the order of their lengths."""

    def order(row: tuple[str, Comparison]) -> tuple[str, int, int, str]:
        precision, each = row
        return precision, len(each.utterance.phonemes), each.frames, each.utterance.voice

    ordered = sorted(_COMPARISONS, key=order)
    missed = sum(len(each.missed) for _, each in ordered)
    system, machine = this_machine().system, this_machine().machine
    text = _TEXT.format(
        date=datetime.date.today(), system=f"{system} {machine}", count=len(ordered), missed=missed
    )
    if not ordered:
        return text
    names = [
        figure.name
        for figure in max((each for _, each in ordered), key=lambda each: len(each.figures)).figures
    ]
    header = ["weights", "tokens", "frames", "voice", "speed", *(_SHORT.get(name, name) for name in names)]
    rows = [header, ["---"] * len(header), *(_row(*row) for row in ordered)]
    return text + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(precision: str, comparison: Comparison) -> list[str]:
    said = comparison.utterance
    return [
        *(precision, str(len(said.phonemes) + 2), str(comparison.frames), said.voice, f"{said.speed:g}"),
        *map(_cell, comparison.figures),
    ]


def _cell(figure: Figure) -> str:
    limit = f"{'≥' if figure.at_least else '≤'} {figure.limit:.3g}"
    text = f"{figure.value:.3g} {limit}" if figure.limit else f"{figure.value:.3g}"
    return text if figure.holds else f"**{text}**"
