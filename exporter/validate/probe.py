"""Each block of a stage on equal inputs, to name the first one that leaves the threshold.

First all blocks of the stage, then the parts of the first one that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exporter.parity.decoder import allowance
from exporter.parity.thresholds import BLOCK_DECIBELS
from exporter.reference.traces import Array
from exporter.validate.block_map import Point, points
from exporter.validate.experiments import decibels
from exporter.validate.kernel_order import KERNEL
from exporter.validate.observe import observe, stage_inputs
from exporter.validate.results import Difference, Table, difference
from exporter.validate.utterance_runs import UtteranceRuns

_ROUNDING = "winograd"
"""Kernel that multiplies in the bundle's arithmetic."""


@dataclass(frozen=True)
class _Probed:
    point: Point
    equal: Difference
    chain: Difference
    least: float
    """Decibels that are expected on equal inputs."""

    @property
    def holds(self) -> bool:
        return self.equal.finite and self.equal.decibels >= self.least


def probe(runs: UtteranceRuns, stage: str) -> Table:
    """Compares every block of a stage with kokoro's, on equal inputs and in the bundle's own chain.

    Args:
        runs: the utterance.
        stage: name of the stage.
    """
    coarse = points(stage, runs.executions.calls[stage])
    probed = list(_probe(runs, stage, coarse))
    wrong = next((each for each in probed if not each.holds), None)
    if wrong is not None and wrong.point.inside:
        # The block's own output stays last: what is behind it says nothing more.
        place = probed.index(wrong)
        probed[place:place] = _probe(runs, stage, (*wrong.point.inside, wrong.point))[:-1]
    marked = next((index for index, each in enumerate(probed) if not each.holds), None)
    return Table(
        title=f"Blocks of {stage}",
        conclusion=_conclusion(stage, probed, marked),
        header=("block", "dB on equal inputs", "dB in the chain", "greatest error / RMS", "finite"),
        rows=tuple(_row(each) for each in probed),
        marked=marked,
        holds=marked is None,
    )


def _conclusion(stage: str, probed: Sequence[_Probed], marked: int | None) -> str:
    if marked is None:
        worst = min(probed, key=lambda each: each.equal.decibels)
        return (
            f"All {len(probed)} blocks of {stage} do what kokoro's do: at least "
            f"{worst.equal.decibels:.0f} dB on equal inputs, least in {worst.point.name}."
        )
    first = probed[marked]
    found = f"{first.equal.decibels:.1f} dB" if first.equal.finite else "not finite"
    return (
        f"The first block that differs on equal inputs is {first.point.name}: {found}, at least "
        f"{first.least:.0f} dB expected."
    )


def _row(each: _Probed) -> tuple[str | int | float, ...]:
    equal, chain = each.equal, each.chain
    error = f"{equal.relative:.1e}"
    finite = "yes" if equal.finite else "NO"
    return each.point.name, decibels(equal.decibels), decibels(chain.decibels), error, finite


def _probe(runs: UtteranceRuns, stage: str, chosen: Sequence[Point]) -> list[_Probed]:
    expected = _expected(runs, stage, chosen)
    runner, calls = runs.executions.bundle.stage(stage), runs.executions.calls[stage]
    where = {point: point.call(calls) for point in chosen}
    replace = {where[point]: expected[point] for point in chosen} | _spectrum(runs, stage)
    _, equal = observe(runner, calls, stage_inputs(runner, runs.equal), where.values(), replace)
    _, chain = observe(runner, calls, stage_inputs(runner, runs.bundle_trace), where.values())

    def compared(seen: Mapping[int, Array], point: Point) -> Difference:
        # Channels that fill the last block are no output.
        valid = tuple(map(slice, expected[point].shape))
        return difference(seen[where[point]][valid], expected[point])

    def least(point: Point) -> float:
        # No kernel before the first Winograd convolution computes with another arithmetic than float32.
        rounds = _ROUNDING in calls.kernels[: where[point] + 1]
        return allowance(runs.executions.bundle).widened(BLOCK_DECIBELS) if rounds else BLOCK_DECIBELS

    return [_Probed(point, compared(equal, point), compared(chain, point), least(point)) for point in chosen]


def _expected(runs: UtteranceRuns, stage: str, chosen: Sequence[Point]) -> dict[Point, Array]:
    """Returns kokoro's outputs at the points, for pt.dynamic's inputs of the stage."""
    with runs.executions.kokoro.reference.tap([tap for point in chosen for tap in point.taps]) as tapped:
        if stage == "decoder":
            runs.executions.kokoro.reference.decode(runs.decoder_inputs(runs.dynamic))
        elif stage == "f0n":
            runs.executions.kokoro.reference.f0n(runs.dynamic.aligned_encoding, runs.request.style.prosody)
        else:
            runs.executions.kokoro.reference.text(runs.request)
        return {point: point.expected(tapped) for point in chosen}


def _spectrum(runs: UtteranceRuns, stage: str) -> dict[int, Array]:
    """Returns pt.dynamic's source spectrum, which keeps rounding of phases out of the generator's blocks."""
    if stage != "decoder":
        return {}
    (call,) = runs.executions.calls[stage].outputs[f"{KERNEL}source_spectrum"]
    return {call: np.concatenate([runs.dynamic.magnitude, runs.dynamic.phase], axis=1)}
