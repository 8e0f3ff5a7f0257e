"""The layers that suffer most from the rounding of their weights."""

from __future__ import annotations

from exporter.validate.experiments import decibels
from exporter.validate.results import Table
from exporter.validate.utterance_runs import UtteranceRuns

_SHOWN = 12
"""Layers in the table."""


def rounding_table(runs: UtteranceRuns) -> Table:
    """Runs each layer of kokoro with its own weights rounded as the bundle stores them, and no other's."""
    kokoro = runs.executions.kokoro
    runs.executions.progress("each layer with rounded weights")
    found = kokoro.original.rounded_layers(runs.request, kokoro.stored)
    worst, least = next(iter(found.items()))
    return Table(
        title=f"Layers with weights in {kokoro.stored.precision}",
        conclusion=(
            f"Rounding harms {worst} most: its output is {least:.1f} dB from that with the original weights, "
            f"on the same input. All other {len(found) - 1} layers with rounded weights are nearer."
        ),
        header=("layer", "dB on the original's input"),
        rows=tuple((path, decibels(value)) for path, value in list(found.items())[:_SHOWN]),
    )
