"""The inputs of kokoro's model and the tensors that it computes, for n tokens and m frames.

Arrays are float32, or float64 from a reference of that arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime_min.model.voices import Style

Array = NDArray[Any]


@dataclass(frozen=True)
class Request:
    """An utterance as kokoro's model takes it; the runtime under test has no part in it."""

    token_ids: NDArray[np.int64]
    """[n], with the 0 at each end."""
    row: NDArray[np.float32]
    """[1, 256], the row of the voice's pack for that many phonemes."""
    speed: float = 1.0
    """Divides the predicted durations."""
    seed: int = 0
    """Seed of the noise."""
    durations: NDArray[np.int64] | None = None
    """[n], frames of each token in place of the predicted ones."""

    @property
    def style(self) -> Style:
        """The halves that kokoro's decoder and its predictor take."""
        half = self.row.shape[1] // 2
        return Style(self.row[:, :half], self.row[:, half:])


@dataclass(frozen=True)
class SourceTrace:
    """The harmonic source and its spectrum."""

    sines: Array
    """[1, 600m, 9], before voicing and noise."""
    source: Array
    """[1, 600m], merged and through tanh."""
    magnitude: Array
    """[1, 11, 120m + 1]."""
    phase: Array
    """[1, 11, 120m + 1], radians."""


@dataclass(frozen=True)
class DecoderTrace(SourceTrace):
    """Tensors of the decoder."""

    asr: Array
    """[1, 512, m], its input."""
    decoder_hidden: Array
    """[1, 512, 2m], before the generator."""
    audio: Array
    """[1, 600m]."""


@dataclass(frozen=True)
class TextTrace:
    """Outputs of the stages along tokens."""

    hidden: Array
    """[1, 512, n], kokoro's d_en."""
    encoding: Array
    """[1, 640, n], kokoro's d transposed."""
    durations: Array
    """[1, n], frames at speed 1, not rounded."""
    text: Array
    """[1, 512, n], output of the text encoder."""


@dataclass(frozen=True)
class ReferenceTrace(TextTrace, DecoderTrace):
    """Everything that an utterance computed on its way."""

    frames: NDArray[np.int64]
    """[n], frames of each token after speed, rounding and the least of 1."""
    aligned_encoding: Array
    """[1, 640, m]."""
    f0: Array
    """[1, 2m], Hz."""
    energy: Array
    """[1, 2m], kokoro's N."""
