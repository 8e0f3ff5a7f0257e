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
class ModelInput:
    """An utterance as kokoro's model takes it; the runtime under test has no part in it."""

    token_ids: NDArray[np.int64]
    """Tokens with a 0 at each end, [tokens]."""
    row: NDArray[np.float32]
    """The style row of the voice for the number of phonemes, [1, 256]."""
    speed: float = 1.0
    """Divides the predicted durations."""
    seed: int = 0
    """Seed of the noise."""
    durations: NDArray[np.int64] | None = None
    """Frames of each token, [tokens], in place of the predicted ones."""

    @property
    def style(self) -> Style:
        """The halves that kokoro's decoder and its predictor take."""
        half = self.row.shape[1] // 2
        return Style(self.row[:, :half], self.row[:, half:])


@dataclass(frozen=True)
class SourceTrace:
    """The harmonic source and its spectrum."""

    sines: Array
    """The nine sines before voicing and noise, [1, 600 * frames, 9]."""
    source: Array
    """The sines merged and through tanh, [1, 600 * frames]."""
    magnitude: Array
    """Magnitudes of the spectrum, [1, 11, 120 * frames + 1]."""
    phase: Array
    """Phases of the spectrum in radians, [1, 11, 120 * frames + 1]."""


@dataclass(frozen=True)
class DecoderTrace(SourceTrace):
    """Tensors of the decoder."""

    asr: Array
    """The aligned text, an input of the decoder, [1, 512, frames]."""
    decoder_hidden: Array
    """Output before the generator, [1, 512, 2 * frames]."""
    audio: Array
    """Samples, [1, 600 * frames]."""


@dataclass(frozen=True)
class TextTrace:
    """Outputs of the stages along tokens."""

    hidden: Array
    """Output of bert, kokoro's d_en, [1, 512, tokens]."""
    encoding: Array
    """Output of the duration encoder, kokoro's d transposed, [1, 640, tokens]."""
    durations: Array
    """Frames of each token at speed 1, not rounded, [1, tokens]."""
    text: Array
    """Output of the text encoder, [1, 512, tokens]."""


@dataclass(frozen=True)
class ReferenceTrace(TextTrace, DecoderTrace):
    """Everything that an utterance computed on its way."""

    frames: NDArray[np.int64]
    """Frames of each token after speed and rounding, at least 1, [tokens]."""
    aligned_encoding: Array
    """Encoding aligned to frames, [1, 640, frames]."""
    f0: Array
    """F0 in Hz, [1, 2 * frames]."""
    energy: Array
    """Energy, kokoro's N, [1, 2 * frames]."""
