"""The findings of the tests of fidelity, rounding and equal bits, as tables for `make prove`.

Several processes run the tests. Each keeps its findings in a file of its own beside the page, and writes the
page anew from all of these files, so an interrupted run keeps its rows.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
_FOUND: dict[str, list[Any]] = {"comparisons": [], "roundings": [], "equal bits": []}
"""The rows that this process has found, by table: what orders a row, the names of its columns, its cells."""


def assert_speaks_as_kokoro(
    bundle: Bundle, kokoro: Kokoro, said: Utterance, durations: NDArray[np.int64] | None = None
) -> Comparison:
    """Every figure is within its limit, and none is missing, as happens where the durations differ."""
    comparison = compare(bundle, kokoro, said, durations)
    record_comparison(bundle.manifest.precision, comparison)
    listed = "\n".join(map(str, comparison.figures))
    assert not comparison.missed, f"{comparison.utterance}, {comparison.frames} frames:\n{listed}"
    assert len(comparison.figures) == 14, listed
    return comparison


def record_comparison(precision: str, comparison: Comparison) -> None:
    """Adds a row on an utterance of a bundle of this precision."""
    said = comparison.utterance
    tokens = len(said.phonemes) + 2
    first = [precision, str(tokens), str(comparison.frames), said.voice, f"{said.speed:g}"]
    order = [precision, tokens, comparison.frames, said.voice, said.speed]
    names = ["weights", "tokens", "frames", "voice", "speed", *_names(comparison.figures)]
    _FOUND["comparisons"].append([order, names, [*first, *map(_cell, comparison.figures)]])
    _write()


def record_rounding(precision: str, utterances: str, figures: tuple[Figure, ...]) -> None:
    """Adds a row on the effect of rounding in some utterances."""
    names = ["weights", "utterances", *_names(figures)]
    _FOUND["roundings"].append(
        [[precision, utterances], names, [precision, utterances, *map(_cell, figures)]]
    )
    _write()


def record_equal_bits(
    precision: str, tokens: int, threads: Sequence[int], buckets: Sequence[Mapping[str, int]]
) -> None:
    """Adds a row on an utterance with equal bits on several numbers of threads and in several buckets."""
    sizes = ", ".join(f"{each['tokens']} and {each['frames']}" for each in buckets)
    names = ["weights", "tokens", "threads", "buckets of tokens and frames"]
    cells = [precision, str(tokens), ", ".join(map(str, sorted(threads))), sizes]
    _FOUND["equal bits"].append([[precision, tokens], names, cells])
    _write()


def as_markdown(found: Mapping[str, list[Any]]) -> str:
    """The tables; comparisons are in the order of precision and then of length."""
    rows = [cells for _, _, cells in found["comparisons"]]
    missed = sum(cell.startswith("**") for cells in rows for cell in cells)
    system, machine = this_machine().system, this_machine().machine
    text = _TEXT.format(
        date=datetime.date.today(), system=f"{system} {machine}", count=len(rows), missed=missed
    )
    for name, opening in (("comparisons", "\n"), ("roundings", _ROUNDING), ("equal bits", _EQUAL_BITS)):
        if found[name]:
            # An utterance of which no figure could be had has the fewest columns.
            header = max((names for _, names, _ in found[name]), key=len)
            text += opening + _table(header, [cells for _, _, cells in sorted(found[name])])
    return text


def _write() -> None:
    """Writes this process's findings, and the page, where `make prove` asks for them."""
    path = os.environ.get("KOKORO_EXPORT_PROOF")
    if not path:
        return
    folder = Path("build/proof")
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / f"{os.getpid()}.json"
    own.with_suffix(".new").write_text(json.dumps(_FOUND), encoding="utf-8")
    own.with_suffix(".new").replace(own)
    found: dict[str, list[Any]] = {name: [] for name in _FOUND}
    for file in sorted(folder.glob("*.json")):
        for name, rows in json.loads(file.read_text(encoding="utf-8")).items():
            found[name] += rows
    Path(path).write_text(as_markdown(found), encoding="utf-8")


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * len(header), *rows))


def _names(figures: Sequence[Figure]) -> list[str]:
    return [_SHORT.get(figure.name, figure.name) for figure in figures]


def _cell(figure: Figure) -> str:
    limit = f" {'≥' if figure.at_least else '≤'} {figure.limit:.3g}"
    text = f"{figure.value:.3g}{limit if figure.limit and np.isfinite(figure.limit) else ''}"
    return text if figure.holds else f"**{text}**"
