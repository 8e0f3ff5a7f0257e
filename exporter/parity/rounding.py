"""The effect of rounding the weights: kokoro as a bundle stores it beside kokoro with the original weights.

The gate proves that a bundle computes what kokoro computes with the same rounded weights. These figures are
the other half: the distance between the two kokoros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exporter.parity import thresholds
from exporter.parity.expected import decoder_inputs, distances
from exporter.reference.process import Reference
from exporter.reference.traces import Array, ModelInput, TextTrace
from runtime_min.format.signatures import SAMPLES_PER_FRAME
from runtime_min.model.distances import Figure
from runtime_min.model.noise import gaussian_noise

_VOICED = 10.0
"""Hz above which kokoro treats F0 as voiced."""
_CENTS = 1200.0
"""Cents of an octave."""


@dataclass(frozen=True)
class Rounding:
    """The distances of one utterance with rounded weights from the same with the original ones."""

    cents: Array
    """Distance of F0 in cents, [voiced points], if the chain runs with the original durations."""
    moved: Array
    """True for tokens whose duration differs, [tokens]."""
    decibels: float
    """Distance of the decoder on equal inputs, in dB."""
    log_mel: float
    """Log-mel distance of the decoder, as a share of that between two seeds of the noise."""


def rounding(
    original: Reference, rounded: Reference, request: ModelInput, text: TextTrace, other_seed: float
) -> Rounding:
    """Measures the effect of rounding in one utterance.

    Args:
        original: kokoro with the checkpoint's weights.
        rounded: kokoro with the weights as a bundle stores them.
        request: the utterance.
        text: what `rounded` makes of its tokens.
        other_seed: log-mel distance between two seeds of the noise.
    """
    said = original.speak(request)
    frames = np.maximum(np.rint(text.durations[0] / np.float32(request.speed)), 1)
    f0, _ = rounded.f0n(np.repeat(text.encoding, said.frames, axis=2), request.style.prosody)

    noise = gaussian_noise(request.seed, SAMPLES_PER_FRAME * int(said.frames.sum()))
    decoded = rounded.decode(decoder_inputs(said, request.style, noise)).audio
    found = distances(decoded, said.audio)
    return Rounding(_cents(f0, said.f0), frames != said.frames, found.decibels, found.mel / other_seed)


def _cents(f0: Array, reference: Array) -> Array:
    # NaN stays.
    voiced = ~((f0 <= _VOICED) | (reference <= _VOICED))
    cents: Array = _CENTS * np.abs(np.log2(f0[voiced].astype(np.float64) / reference[voiced]))
    return cents


def rounding_figures(found: Sequence[Rounding], precision: str) -> tuple[Figure, ...]:
    """Returns the figures over all utterances (the decoder's worst), each with a precision's limit."""
    cents = np.concatenate([each.cents for each in found])
    median, most = np.percentile(cents, (50, 95)) if cents.size else (0.0, 0.0)
    moved = float(np.concatenate([each.moved for each in found]).mean())
    decibels = float(np.min([each.decibels for each in found]))
    log_mel = float(np.max([each.log_mel for each in found]))
    least, most_mel = (
        thresholds.ROUNDED_DECODER_DECIBELS[precision],
        thresholds.ROUNDED_LOG_MEL_SHARE[precision],
    )
    return (
        Figure("decoder, dB", decibels, least, at_least=True),
        Figure("decoder, log-mel over another seed's", log_mel, most_mel),
        Figure("F0, median cents", float(median), thresholds.ROUNDED_F0_CENTS),
        Figure("F0, 95th percentile cents", float(most), np.inf),
        Figure("durations that move", moved, thresholds.ROUNDED_DURATIONS),
    )
