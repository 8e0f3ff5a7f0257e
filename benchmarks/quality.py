"""How far the speech of each engine is from PyTorch's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import PYTORCH, Quality
from exporter.bench.engine import Piece, Samples
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.distances import log_mel_distance


class Voiced(Protocol):
    """A loaded engine: an `EngineProcess`."""

    def voiced(self, phonemes: str) -> Piece:
        """Speaks, and returns the audio."""


def quality(engines: Mapping[str, Voiced], utterances: Sequence[str]) -> tuple[Quality, ...]:
    """Compares every engine, PyTorch among them, with PyTorch; each has noise of its own.

    Args:
        engines: the loaded engines by name.
        utterances: phonemes of each utterance.
    """
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
    for phonemes in utterances:
        reference = engines[PYTORCH].voiced(phonemes)
        spoken = {name: engine.voiced(phonemes) for name, engine in engines.items()}
        own = _distance(spoken[PYTORCH], reference)
        for name, piece in spoken.items():
            moved = float((piece.durations != reference.durations).mean())
            figures[name].append((moved, _distance(piece, reference) / own))
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
