"""The report of a comparison: its facts, its Markdown and its JSON."""

from __future__ import annotations

from benchmarks.goals import goals
from benchmarks.plot import plot
from benchmarks.results import NAMES, Comparison
from benchmarks.roofline import work_content
from benchmarks.tables import tables
from exporter.bench.report import all_facts, as_content, as_json, as_markdown


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
        f"{', '.join(NAMES[engine] for engine in engines)}, each in a process of its own, with "
        f"its makers' settings but for the number of threads; {comparison.rounds} interleaved rounds in "
        "rotated order after one to warm up"
    )
    return all_facts(comparison, {"engines": compared, "CPU time of engines that waited": idle})


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
