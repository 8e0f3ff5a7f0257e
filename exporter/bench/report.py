"""A report as Markdown, JSON and in the terminal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from exporter.bench import goals
from exporter.bench.plot import plot
from exporter.bench.results import NAMES, Report
from exporter.bench.soak import Soak
from exporter.bench.tables import Table, tables
from exporter.errors import ExportError

_FORMAT = 1
_MOST_ROWS = 24
"""Rows of a table in the terminal."""
_WIDE = 110
"""Columns of a terminal that shows every column of every table."""
_BUSY = 0.2
"""Cores that other processes may use without spoiling the timings."""


class UnwritableReportError(ExportError):
    """The files of a report cannot be written."""

    exit_code = 6


def save(report: Report, directory: Path) -> tuple[Path, ...]:
    """Writes ``bench.md``, ``bench.json`` and ``bench.svg``; returns where.

    Raises:
        UnwritableReportError: they cannot be written.
    """
    contents = {"bench.md": as_markdown(report), "bench.json": as_json(report), "bench.svg": plot(report)}
    return _write(directory, contents)


def save_soak(soak: Soak, directory: Path) -> tuple[Path, ...]:
    """Writes ``bench-memory.json``; returns where.

    Raises:
        UnwritableReportError: it cannot be written.
    """
    content = {"format": _FORMAT, **asdict(soak), "growth": soak.growth, "flat": soak.flat}
    return _write(directory, {"bench-memory.json": json.dumps(content, indent=1) + "\n"})


def prepare(directory: Path) -> None:
    """Makes the directory of a report, before anything slow runs.

    Raises:
        UnwritableReportError: it cannot be made, or nothing can be written there.
    """
    _write(directory, {})
    if not os.access(directory, os.W_OK):
        raise UnwritableReportError(
            f"Nothing can be written to {directory}: expected a directory of one's own. "
            "Name another --save-dir."
        )


def _write(directory: Path, contents: dict[str, str]) -> tuple[Path, ...]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnwritableReportError(
            f"The report cannot be written to {directory}: {error.strerror}. Name another --save-dir."
        ) from error
    return tuple(directory / name for name in contents)


def as_json(report: Report) -> str:
    """Everything that was measured, with medians and goals, for programs."""
    content: dict[str, Any] = {"format": _FORMAT, **asdict(report)}
    for entry, timing in zip(content["timings"], report.timings, strict=True):
        entry |= {"median": timing.median, "rate": timing.rate, "best_rate": timing.best_rate}
    for entry, start in zip(content["cold_starts"], report.cold_starts, strict=True):
        entry["median"] = start.median
    content["goals"] = [
        {
            "figure": row.figure,
            "values": dict(row.values),
            "judged": row.judged,
            "at_least": row.at_least,
            "goal": row.goal,
            "reached": row.reached,
        }
        for row in goals.rows(report)
    ]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_markdown(report: Report) -> str:
    """The report to read."""
    facts = [f"- {name}: {value}" for name, value in _facts(report).items()]
    head = ["# Benchmark", "", "`make bench` writes this file; all figures are of one run.", "", *facts]
    plot = ["", "![Seconds for a second of audio over the length](bench.svg)"]
    parts = [_markdown_table(table) for table in tables(report)]
    return "\n".join([*head, "", parts[0], *plot, "", *parts[1:]])


def _markdown_table(table: Table) -> str:
    rule = ["---"] * table.labels + ["---:"] * (len(table.head) - table.labels)
    lines = [_markdown_row(row) for row in (table.head, rule, *table.rows)]
    note = [table.note, ""] if table.note else []
    return "\n".join([f"## {table.title}", "", *note, *lines, ""])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def as_terminal(report: Report, width: int) -> RenderableType:
    """The report's tables for a terminal of `width` columns."""
    lines = [Text(f"{name}: {value}") for name, value in _facts(report).items()]
    return Group(*lines, *(part for table in tables(report) for part in _terminal_table(table, width)))


def _terminal_table(table: Table, width: int) -> Iterator[RenderableType]:
    # The title and the note stand outside, where a narrow table does not break them.
    yield Text(f"\n{table.title}", style="bold")
    if table.note:
        yield Text(table.note.replace("*", ""), style="dim")
    made = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    rows = table.rows[:_MOST_ROWS]
    places = [place for place in range(len(table.head)) if width >= _WIDE or place not in table.details]
    for place in places:
        # Words may be broken, numbers must not be.
        widest = None if place < table.labels else max(len(row[place]) for row in rows)
        made.add_column(table.head[place], justify="right" if widest else "left", min_width=widest)
    for row in rows:
        made.add_row(*(Text(row[place]) for place in places))
    yield made
    if len(table.rows) > _MOST_ROWS:
        yield Text(f"{len(table.rows) - _MOST_ROWS} more rows are in what --save-dir writes", style="dim")


def _facts(report: Report) -> dict[str, str]:
    """What was measured and how, with a warning where the engines disturbed each other."""
    engines = dict.fromkeys(timing.engine for timing in report.timings)
    idle = f"{report.idle_share:.1%} of a core at most"
    if report.idle_share > 0.05:
        idle += ": THEY DISTURBED THE ONE THAT WAS MEASURED"
    busy = f"{report.busy_before:.2f} cores before and {report.busy_after:.2f} after the measurement"
    if max(report.busy_before, report.busy_after) > _BUSY:
        busy += ": THE MACHINE WAS BUSY, AND THE TIMINGS MEAN LITTLE"
    return report.facts | {
        "engines": f"{', '.join(NAMES[engine] for engine in engines)}, each in a process of its own, with "
        f"its makers' settings but for the number of threads; {report.rounds} interleaved rounds in rotated "
        "order after one to warm up",
        "CPU time of engines that waited": idle,
        "busy with other things": busy,
    }
