"""The report of a comparison: its facts, its Markdown and its JSON."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.goals import goals
from benchmarks.interleaved import ENOUGH, TOKENS
from benchmarks.plot import plot
from benchmarks.results import Comparison
from benchmarks.roofline import work_content
from benchmarks.tables import tables
from exporter.measure.figure_table import FigureTable
from exporter.measure.report import all_facts, as_content, as_json, as_markdown

_END = "<!-- end -->"


def contents(comparison: Comparison) -> dict[str, str]:
    """Returns the texts of ``bench.md``, ``bench.json`` and ``bench.svg``."""
    first, *others = (table.markdown() for table in tables(comparison))
    image = ("", "![Seconds for a second of audio over the length](bench.svg)", "")
    introduction = "`make bench` writes this file; all figures are of one run."
    return {
        "bench.md": as_markdown(introduction, facts(comparison), (first, *image, *others)),
        "bench.json": as_json(_content(comparison)),
        "bench.svg": plot(comparison),
    }


def facts(comparison: Comparison) -> dict[str, str]:
    """Returns the machine, the versions and the method, with warnings if the figures are disturbed."""
    engines = dict.fromkeys(timing.engine for timing in comparison.timings)
    idle = f"{comparison.idle_share:.1%} of a core at most"
    if comparison.idle_share > 0.05:
        idle += ": THEY DISTURBED THE ONE THAT WAS MEASURED"
    compared = (
        f"{'; '.join(comparison.names[engine] for engine in engines)}: each in a process of its own, with "
        "its makers' settings but for the number of threads"
    )
    rounds = (
        f"at most {comparison.rounds}, interleaved, in rotated order after one utterance to warm up; in each "
        f"an engine speaks {TOKENS} ÷ tokens times (on fewer threads once), and its median counts; one that "
        f"has spoken for {ENOUGH:.0f} s takes part in no other"
    )
    return all_facts(
        comparison, {"engines": compared, "rounds": rounds, "CPU time of engines that waited": idle}
    )


def quoted(document: str, tables: Iterable[FigureTable]) -> str:
    """Returns a Markdown document with the tables in their places.

    Args:
        document: a place begins with the line ``<!-- TITLE -->`` and ends before `_END`.
        tables: those of a comparison.
    """
    for table in tables:
        before, mark, rest = document.partition(f"<!-- {table.title} -->\n")
        if mark:
            lines = (line for line in table.markdown().splitlines() if line.startswith("|"))
            document = "".join((before, mark, *(f"{line}\n" for line in lines), *rest.partition(_END)[1:]))
    return document


def _content(comparison: Comparison) -> dict[str, object]:
    content = as_content(comparison)
    if comparison.profile is not None:
        for entry, kernel in zip(content["profile"]["kernels"], comparison.profile.kernels, strict=True):
            entry |= work_content(kernel)
    return content | {"goals": _judged(comparison)}


def _judged(comparison: Comparison) -> list[dict[str, object]]:
    return [
        {
            "figure": goal.figure,
            "values": dict(goal.values),
            "judged": goal.judged,
            "at_least": goal.at_least,
            "goal": goal.goal,
            "reached": goal.reached,
        }
        for goal in goals(comparison)
    ]
