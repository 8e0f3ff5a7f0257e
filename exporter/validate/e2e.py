"""The result of ``validate e2e`` as tables and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from exporter.parity.expected import CHANGES
from exporter.parity.figures import MOST_DECIBELS, Comparison
from exporter.parity.waveforms import verdict
from runtime_min.format.signatures import FRAMES_PER_SECOND
from runtime_min.model.distances import Figure
from runtime_min.output.writer import write_file

_MISSED = "bold red"
_FIGURES = {
    "chain, dB": "SNR, dB",
    "chain, log-mel over another seed's": "log-mel",
    "level, dB off": "level, dB",
}
"""Heading of each figure; the distance over the own spread says the same as the ratio."""


def as_tables(comparisons: Sequence[Comparison]) -> Iterator[Table]:
    """Yields a table of figures and limits for each CPU level; missed limits stand out."""
    for level in dict.fromkeys(each.level for each in comparisons):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=level, title_justify="left")
        table.add_column("phonemes")
        for heading in ("voice", "speed", "s", "lengths", *_FIGURES.values()):
            table.add_column(heading, no_wrap=True, justify="right" if heading in ("speed", "s") else "left")
        shown = [each for each in comparisons if each.level == level]
        for comparison in shown:
            table.add_row(*_row(comparison))
        most = max(each.changes for each in shown)
        table.caption = f"limits by at most {most} of {len(CHANGES)} changes of kokoro; more widen them"
        yield table


def _row(comparison: Comparison) -> Iterator[Text]:
    said = comparison.utterance
    by_name = {figure.name: figure for figure in comparison.figures}
    # Text, because names in a file must not be read as markup; alone among the columns it may be cut off.
    yield Text(said.phonemes, style="" if comparison.holds else _MISSED, no_wrap=True, overflow="ellipsis")
    yield Text(said.voice)
    yield Text(f"{said.speed:g}")
    yield Text(f"{comparison.frames / FRAMES_PER_SECOND:.2f}")
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


def as_json(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Returns the same for programs, with finite numbers or null."""
    return [
        {
            **asdict(comparison.utterance),
            "cpu_level": comparison.level,
            "seconds": comparison.frames / FRAMES_PER_SECOND,
            "holds": comparison.holds,
            "changes": comparison.changes,
            "figures": [
                {
                    **vars(figure),
                    "value": _finite(figure.value),
                    "limit": _finite(figure.limit),
                    "holds": figure.holds,
                }
                for figure in comparison.figures
            ],
        }
        for comparison in comparisons
    ]


def write_json(path: Path, comparisons: Sequence[Comparison], bundle: Path) -> None:
    """Writes `as_json` and the verdict.

    Raises:
        OutputError: the file cannot be written.
    """
    content = {
        "bundle": str(bundle),
        "verdict": verdict(comparisons, bundle),
        "waveforms": as_json(comparisons),
    }
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode())


def _finite(value: float) -> float | None:
    if math.isnan(value):
        return None
    return math.copysign(MOST_DECIBELS, value) if math.isinf(value) else value
