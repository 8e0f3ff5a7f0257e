"""The distance of each engine's speech from PyTorch's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import PYTORCH, Quality
from exporter.measure.engine import Piece, Samples
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.distances import log_mel_distance


class Heard(NamedTuple):
    """An utterance as each engine spoke it, each time with other noise."""

    reference: Piece
    """The speech of PyTorch."""
    spoken: Mapping[str, Piece]
    """The speech of every engine, a second one of PyTorch among them."""


def quality(utterances: Sequence[Heard]) -> tuple[Quality, ...]:
    """Compares every engine, PyTorch among them, with PyTorch."""
    figures: dict[str, list[tuple[float, float]]] = {}
    for reference, spoken in utterances:
        own = _distance(spoken[PYTORCH], reference)
        for name, piece in spoken.items():
            moved = float((piece.durations != reference.durations).mean())
            figures.setdefault(name, []).append((moved, _distance(piece, reference) / own))
    means = {name: np.mean(each, axis=0).tolist() for name, each in figures.items()}
    return tuple(Quality(name, moved, log_mel) for name, (moved, log_mel) in means.items())


def _distance(one: Piece, other: Piece) -> float:
    """Returns the log-mel distance over the frames that each token has in both."""
    common = np.minimum(one.durations, other.durations)
    return log_mel_distance(_cut(one, common), _cut(other, common))


def _cut(piece: Piece, frames: NDArray[np.int64]) -> Samples:
    """Returns the first `frames` of each token of a piece."""
    ends = np.cumsum(piece.durations)
    places = [
        np.arange(start, start + count) for start, count in zip(ends - piece.durations, frames, strict=True)
    ]
    cut: Samples = piece.samples.reshape(-1, SAMPLES_PER_FRAME)[np.concatenate(places)]
    return cut.reshape(-1)
