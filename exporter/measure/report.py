"""The report of a benchmark as Markdown, JSON and in the terminal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from exporter.errors import ExportError
from exporter.measure.figure_table import FigureTable
from exporter.measure.results import Benchmark
from exporter.measure.soak import Soak

_FORMAT = 1
_BUSY = 0.2
"""Cores that other processes may use without spoiling the timings."""


class UnwritableReportError(ExportError):
    """The files of a report cannot be written."""

    exit_code = 6


def all_facts(benchmark: Benchmark, others: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the facts of a benchmark, `others`, and the load by other processes, if high with a warning."""
    busy = f"{benchmark.busy_before:.2f} cores before and {benchmark.busy_after:.2f} after the measurement"
    if max(benchmark.busy_before, benchmark.busy_after) > _BUSY:
        busy += ": THE MACHINE WAS BUSY, AND THE TIMINGS MEAN LITTLE"
    return {**benchmark.facts, **(others or {}), "busy with other things": busy}


def as_content(benchmark: Benchmark) -> dict[str, Any]:
    """Returns the figures, with the statistics of each timing, as values of JSON."""
    content: dict[str, Any] = {"format": _FORMAT, **asdict(benchmark)}
    for entry, timing in zip(content["timings"], benchmark.timings, strict=True):
        entry |= {"median": timing.median, "rate": timing.rate, "best_rate": timing.best_rate}
    for entry, start in zip(content["cold_starts"], benchmark.cold_starts, strict=True):
        entry["median"] = start.median
    if benchmark.profile is not None:
        for entry, kernel in zip(content["profile"]["kernels"], benchmark.profile.kernels, strict=True):
            entry["calls"] = len(kernel.calls)
    return content


def as_json(content: Mapping[str, Any]) -> str:
    """Returns the text of a JSON file."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_markdown(introduction: str, facts: Mapping[str, str], parts: Iterable[str]) -> str:
    """Returns the report as Markdown.

    Args:
        introduction: a sentence below the title.
        facts: the measured bundle, the machine and the method, by name.
        parts: tables and images.
    """
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    return "\n".join(["# Benchmark", "", introduction, "", *lines, "", *parts])


def as_terminal(facts: Mapping[str, str], tables: Iterable[FigureTable], width: int) -> RenderableType:
    """Returns the report for a terminal of `width` columns."""
    lines = [Text(f"{name}: {value}") for name, value in facts.items()]
    return Group(*lines, *(part for table in tables for part in table.renderables(width)))


def soak_content(soak: Soak) -> dict[str, Any]:
    """Returns the figures of a soak test as values of JSON."""
    return {"format": _FORMAT, **asdict(soak), "growth": soak.growth, "flat": soak.flat}


def prepare(directory: Path) -> None:
    """Makes the directory of a report, before anything slow runs.

    Raises:
        UnwritableReportError: it cannot be made, or nothing can be written there.
    """
    save(directory, {})
    if not os.access(directory, os.W_OK):
        raise UnwritableReportError(
            f"Nothing can be written to {directory}: expected a directory of one's own. "
            "Name another --save-dir."
        )


def save(directory: Path, contents: Mapping[str, str]) -> tuple[Path, ...]:
    """Writes texts to files of a directory, and returns their paths.

    Args:
        directory: made if missing.
        contents: the text of each file, by the file's name.

    Raises:
        UnwritableReportError: they cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnwritableReportError(
            f"The report cannot be written to {directory}: {error.strerror}. Name another --save-dir."
        ) from error
    return tuple(directory / name for name in contents)
