"""The findings of this session's tests of fidelity, rounding and equal bits, as tables for `make prove`."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter.parity.answers import Kokoro
from exporter.parity.figures import Comparison, compare
from exporter.reference.utterances import Utterance
from runtime_min import Bundle
from runtime_min.engine.machine import this_machine
from runtime_min.model.distances import Figure

_TEXT = """# Proof

Written by `make prove` on {date}, {system}: {count} utterances, {missed} figures missed their limit.
A bundle of the real weights, which were rounded to 8 bits before we got them, is compared with an unpatched
`kokoro.KModel` (float32) on the same noise, and with the same rounded weights where the bundle's are rounded.
A cell has a figure and its limit.
`exporter/parity/figures.py` defines the figures, `exporter/parity/thresholds.py` the limits.
"""
_ROUNDING = """
## Rounding

Distances between kokoro with the rounded weights and kokoro with the original ones. The decoder's are
those of its worst utterance.

"""
_EQUAL_BITS = """
## Equal bits

Every tensor of the chain has the same bits in each of these runs.

"""
_SHORT = {
    "durations that differ": "other durations",
    "durations rounded the other way": "at a half",
    "durations before rounding": "durations",
    "f0, distance from float64 over PyTorch's": "F0 / own",
    "energy, distance from float64 over PyTorch's": "N / own",
    "chain, distance over own spread": "chain / own spread",
    "chain, log-mel over another seed's": "log-mel",
}
_COMPARISONS: list[tuple[str, Comparison]] = []
_ROUNDINGS: list[tuple[str, str, tuple[Figure, ...]]] = []
_EQUAL: list[tuple[str, int, str, str]] = []


def assert_speaks_as_kokoro(
    bundle: Bundle, kokoro: Kokoro, said: Utterance, durations: NDArray[np.int64] | None = None
) -> Comparison:
    """Every figure is within its limit, and none is missing, as happens where the durations differ."""
    comparison = compare(bundle, kokoro, said, durations)
    _COMPARISONS.append((bundle.manifest.precision, comparison))
    _write()
    listed = "\n".join(map(str, comparison.figures))
    assert not comparison.missed, f"{comparison.utterance}, {comparison.frames} frames:\n{listed}"
    assert len(comparison.figures) == 14, listed
    return comparison


def record_rounding(precision: str, utterances: str, figures: tuple[Figure, ...]) -> None:
    """Adds a row on the effect of rounding in some utterances."""
    _ROUNDINGS.append((precision, utterances, figures))
    _write()


def record_equal_bits(
    precision: str, tokens: int, threads: Sequence[int], buckets: Sequence[Mapping[str, int]]
) -> None:
    """Adds a row on an utterance with equal bits on several numbers of threads and in several buckets."""
    sizes = ", ".join(f"{each['tokens']} and {each['frames']}" for each in buckets)
    _EQUAL.append((precision, tokens, ", ".join(map(str, sorted(threads))), sizes))
    _write()


def as_markdown() -> str:
    """The tables; comparisons are in the order of precision and then of length."""

    def order(row: tuple[str, Comparison]) -> tuple[str, int, int, str]:
        precision, each = row
        return precision, len(each.utterance.phonemes), each.frames, each.utterance.voice

    ordered = sorted(_COMPARISONS, key=order)
    missed = sum(len(each.missed) for _, each in ordered)
    system, machine = this_machine().system, this_machine().machine
    text = _TEXT.format(
        date=datetime.date.today(), system=f"{system} {machine}", count=len(ordered), missed=missed
    )
    if ordered:
        figures = max((each.figures for _, each in ordered), key=len)
        header = ["weights", "tokens", "frames", "voice", "speed"]
        text += "\n" + _table([*header, *_names(figures)], [_row(*row) for row in ordered])
    if _ROUNDINGS:
        header = ["weights", "utterances", *_names(_ROUNDINGS[0][2])]
        rows = [[precision, said, *map(_cell, figures)] for precision, said, figures in sorted(_ROUNDINGS)]
        text += _ROUNDING + _table(header, rows)
    if _EQUAL:
        header = ["weights", "tokens", "threads", "buckets of tokens and frames"]
        text += _EQUAL_BITS + _table(header, [list(map(str, row)) for row in sorted(_EQUAL)])
    return text


def _write() -> None:
    """Writes the tables where `make prove` asks for them: an interrupted run keeps its rows."""
    if path := os.environ.get("KOKORO_EXPORT_PROOF"):
        Path(path).write_text(as_markdown(), encoding="utf-8")


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * len(header), *rows))


def _names(figures: Sequence[Figure]) -> list[str]:
    return [_SHORT.get(figure.name, figure.name) for figure in figures]


def _row(precision: str, comparison: Comparison) -> list[str]:
    said = comparison.utterance
    return [
        *(precision, str(len(said.phonemes) + 2), str(comparison.frames), said.voice, f"{said.speed:g}"),
        *map(_cell, comparison.figures),
    ]


def _cell(figure: Figure) -> str:
    limit = f" {'≥' if figure.at_least else '≤'} {figure.limit:.3g}"
    text = f"{figure.value:.3g}{limit if figure.limit and np.isfinite(figure.limit) else ''}"
    return text if figure.holds else f"**{text}**"
