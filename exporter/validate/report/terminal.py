"""The output of ``kokoro-export validate steps``: tables for a terminal of 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from exporter.validate.report import text as words
from exporter.validate.results import BUNDLE, EQUAL, STATIC, Report, SpokenSteps, Step, Table
from runtime_min.model.distances import Figure

_WIDE = 92
"""Columns of a terminal that hold every column of the table of steps."""
_GOOD, _BAD, _FAINT = "green", "bold red", "dim"


def show(report: Report, console: Console) -> None:
    """Prints a report; its last line is the verdict."""
    facts = Grid.grid(padding=(0, 2))
    for name, value in {"bundle": report.bundle, **report.facts}.items():
        facts.add_row(Text(words.one_line(name), style=_FAINT), Text(words.one_line(value)))
    console.print(facts)
    for spoken in report.utterances:
        console.print(Group(*_utterance(spoken, console.width >= _WIDE)))
    console.print(Text(words.verdict(report), style=_GOOD if report.holds else _BAD), soft_wrap=True)


def _utterance(spoken: SpokenSteps, wide: bool) -> Iterator[RenderableType]:
    yield Text(f"\n{words.one_line(spoken.utterance.phonemes)}", style="bold")
    yield Text(words.speaker(spoken), style=_FAINT)
    yield from ("", _steps(spoken, wide), "", _decibels(spoken, wide), "")
    if spoken.chain:
        yield from (_chain(spoken.chain), "")
    for table in spoken.tables:
        yield _experiment(table)


def _steps(spoken: SpokenSteps, wide: bool) -> Grid:
    """Returns each step on pt.dynamic's inputs; a narrow terminal gets fewer columns."""
    grid = _grid("Each step on pt.dynamic's inputs", "  step")
    extra = ("corr.", "finite") if wide else ()
    for heading in ("dB", "max abs", "rel.", *extra, "judged"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("")
    for step in spoken.steps:
        found, figure = step.differences.get(EQUAL), words.deciding(step)
        numbers = [words.NONE] * (3 + len(extra))
        if found is not None:
            numbers[:3] = (
                words.decibels(found.decibels),
                words.small(found.maximum),
                words.small(found.relative),
            )
            numbers[3:] = (words.correlation(found.correlation), "yes" if found.finite else "NO")[
                : len(extra)
            ]
        bound = words.judged(figure) if figure is not None else words.NONE
        grid.add_row(_name(step, spoken), *numbers, bound, _verdict(step), style=_style(step, spoken))
    return grid


def _decibels(spoken: SpokenSteps, wide: bool) -> Grid:
    """Returns all executions beside pt.dynamic's distances from itself."""
    changes = words.own_changes(spoken)
    grid = _grid(
        "Against pt.dynamic, in dB; at the right pt.dynamic against itself",
        "  step",
    )
    grid.padding = (0, 1 if wide else 0, 0, 0)
    for heading in ("equal", "chain", "static", *changes):
        grid.add_column(Text(heading), justify="right")
    for step in spoken.steps:
        found = [step.differences.get(execution) for execution in (EQUAL, BUNDLE, STATIC)]
        numbers = [words.decibels(each.decibels if each else None) for each in found]
        numbers += [words.decibels(step.own.get(change)) for change in changes]
        grid.add_row(_name(step, spoken), *numbers, style=_style(step, spoken))
    return grid


def _chain(figures: tuple[Figure, ...]) -> Grid:
    grid = _grid("The whole chain", "")
    grid.show_header = False
    grid.add_column("", justify="right", no_wrap=True)
    grid.add_column("")
    for figure in figures:
        mark = Text("ok", style=_GOOD) if figure.holds else Text("MISSED", style=_BAD)
        grid.add_row(Text(f"  {figure.name}"), words.judged(figure), mark)
    return grid


def _experiment(table: Table) -> RenderableType:
    grid = _grid(words.one_line(table.title), Text(f"  {table.header[0]}"))
    for column, heading in enumerate(table.header[1:], 1):
        numeric = all(isinstance(row[column], (int, float)) for row in table.rows)
        grid.add_column(Text(heading), justify="right" if numeric else "left")
    for index, row in enumerate(table.rows):
        marked = index == table.marked
        first = f"{'> ' if marked else '  '}{words.cell(row[0])}"
        style = "bold" if marked else ""
        grid.add_row(Text(first), *(Text(words.cell(value)) for value in row[1:]), style=style)
    conclusion = Text(words.one_line(table.conclusion), style="" if table.holds else _BAD)
    return Group(grid, Padding(conclusion, (0, 0, 1, 2)))


def _grid(title: str, first: str | Text) -> Grid:
    grid = Grid(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        header_style=_FAINT,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
    )
    grid.add_column(first, no_wrap=True)
    return grid


def _name(step: Step, spoken: SpokenSteps) -> Text:
    return Text(f"{'> ' if step is spoken.worst else '  '}{step.name}")


def _style(step: Step, spoken: SpokenSteps) -> str:
    return "bold" if step is spoken.worst else ""


def _verdict(step: Step) -> Text:
    """Returns the verdict in words, so that it also shows without colour."""
    nan = "" if words.is_finite(step) else "not finite"
    if not step.holds:
        place = words.first_over(step)
        return Text(", ".join(filter(None, ("MISSED", place, nan))), style=_BAD)
    if nan:
        return Text(nan, style=_BAD)
    return Text("ok", style=_GOOD) if step.figures else Text("not judged", style=_FAINT)
