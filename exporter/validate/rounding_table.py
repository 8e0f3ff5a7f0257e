"""The layers that suffer most from the rounding of their weights, and from the bundle's arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from exporter.compiler.targets import FLOAT32, find_target
from exporter.validate.experiments import decibels
from exporter.validate.results import Table
from exporter.validate.utterance_runs import UtteranceRuns

_SHOWN = 12
"""Layers in the table."""


def rounding_tables(runs: UtteranceRuns) -> Iterator[Table]:
    """Runs each layer of kokoro with its own weights rounded as the bundle stores them, and no other's.

    Where the bundle multiplies in another arithmetic than float32, each layer then does so too, by a model of
    that arithmetic in PyTorch.
    """
    kokoro, bundle = runs.executions.kokoro, runs.executions.bundle
    stored, arithmetic = kokoro.stored, bundle.arithmetic
    found: Mapping[str, float] = {}
    if not stored.original:
        runs.executions.progress("each layer with rounded weights")
        found = kokoro.original.rounded_layers(runs.request, stored)
        yield _table(f"Layers with weights in {stored.precision}", "Rounding", found)
    if arithmetic != FLOAT32:
        runs.executions.progress(f"each layer in {arithmetic}")
        level = find_target(bundle.manifest.target.name).level(bundle.level.name)
        both = kokoro.original.rounded_layers(runs.request, stored.on(level))
        changed = {path: value for path, value in both.items() if found.get(path) != value}
        yield _table(f"Layers that multiply in {arithmetic}", arithmetic, changed)


def _table(title: str, cause: str, found: Mapping[str, float]) -> Table:
    """Returns the table of layers with the decibels of each, worst first."""
    worst, least = next(iter(found.items()))
    return Table(
        title=title,
        conclusion=(
            f"{cause} harms {worst} most: its output is {least:.1f} dB from that of the original, on the "
            f"same input. All other {len(found) - 1} layers that change are nearer."
        ),
        header=("layer", "dB on the original's input"),
        rows=tuple((path, decibels(value)) for path, value in list(found.items())[:_SHOWN]),
    )
