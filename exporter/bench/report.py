"""The report of a benchmark as Markdown, JSON and in the terminal."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from exporter.bench.goals import goals
from exporter.bench.plot import plot
from exporter.bench.results import NAMES, Benchmark
from exporter.bench.soak import Soak
from exporter.bench.tables import tables
from exporter.errors import ExportError

_FORMAT = 1
_BUSY = 0.2
"""Cores that other processes may use without spoiling the timings."""


class UnwritableReportError(ExportError):
    """The files of a report cannot be written."""

    exit_code = 6


def save(benchmark: Benchmark, directory: Path) -> tuple[Path, ...]:
    """Writes ``bench.md``, ``bench.json`` and ``bench.svg``; returns where.

    Raises:
        UnwritableReportError: they cannot be written.
    """
    contents = {
        "bench.md": as_markdown(benchmark),
        "bench.json": as_json(benchmark),
        "bench.svg": plot(benchmark),
    }
    return _write(directory, contents)


def save_soak(soak: Soak, directory: Path) -> tuple[Path, ...]:
    """Writes ``bench-memory.json``; returns where.

    Raises:
        UnwritableReportError: it cannot be written.
    """
    content = {"format": _FORMAT, **asdict(soak), "growth": soak.growth, "flat": soak.flat}
    return _write(directory, {"bench-memory.json": json.dumps(content, indent=1) + "\n"})


def prepare(directory: Path) -> None:
    """Makes the directory of a benchmark, before anything slow runs.

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


def as_json(benchmark: Benchmark) -> str:
    """Returns everything that was measured, with medians and goals, for programs."""
    content: dict[str, Any] = {"format": _FORMAT, **asdict(benchmark)}
    for entry, timing in zip(content["timings"], benchmark.timings, strict=True):
        entry |= {"median": timing.median, "rate": timing.rate, "best_rate": timing.best_rate}
    for entry, start in zip(content["cold_starts"], benchmark.cold_starts, strict=True):
        entry["median"] = start.median
    content["goals"] = [
        {
            "figure": goal.figure,
            "values": dict(goal.values),
            "judged": goal.judged,
            "at_least": goal.at_least,
            "goal": goal.goal,
            "reached": goal.reached,
        }
        for goal in goals(benchmark)
    ]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_markdown(benchmark: Benchmark) -> str:
    """Returns the report as Markdown."""
    facts = [f"- {name}: {value}" for name, value in _facts(benchmark).items()]
    head = ["# Benchmark", "", "`make bench` writes this file; all figures are of one run.", "", *facts]
    plot = ["", "![Seconds for a second of audio over the length](bench.svg)"]
    parts = [table.markdown() for table in tables(benchmark)]
    return "\n".join([*head, "", parts[0], *plot, "", *parts[1:]])


def as_terminal(benchmark: Benchmark, width: int) -> RenderableType:
    """Returns the report's tables for a terminal of `width` columns."""
    lines = [Text(f"{name}: {value}") for name, value in _facts(benchmark).items()]
    return Group(*lines, *(part for table in tables(benchmark) for part in table.renderables(width)))


def _facts(benchmark: Benchmark) -> dict[str, str]:
    """Returns what was measured and how, with a warning if the figures are disturbed."""
    engines = dict.fromkeys(timing.engine for timing in benchmark.timings)
    idle = f"{benchmark.idle_share:.1%} of a core at most"
    if benchmark.idle_share > 0.05:
        idle += ": THEY DISTURBED THE ONE THAT WAS MEASURED"
    busy = f"{benchmark.busy_before:.2f} cores before and {benchmark.busy_after:.2f} after the measurement"
    if max(benchmark.busy_before, benchmark.busy_after) > _BUSY:
        busy += ": THE MACHINE WAS BUSY, AND THE TIMINGS MEAN LITTLE"
    return benchmark.facts | {
        "engines": f"{', '.join(NAMES[engine] for engine in engines)}, each in a process of its own, with "
        f"its makers' settings but for the number of threads; {benchmark.rounds} interleaved rounds in "
        "rotated order after one to warm up",
        "CPU time of engines that waited": idle,
        "busy with other things": busy,
    }
