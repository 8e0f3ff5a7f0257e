"""Distances between two signals, and their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format.signatures import SAMPLE_RATE

Array = NDArray[Any]
NEAR_THE_CUT = 1e-5
"""An imaginary part below this share of the spectrum's RMS is rounding, and so is its sign."""


@dataclass(frozen=True)
class Figure:
    """One measured number and its limit."""

    name: str
    value: float
    limit: float
    at_least: bool = False
    """True if `limit` is the least allowed value, False if it is the greatest."""

    @property
    def holds(self) -> bool:
        """True if the number is finite and within its limit."""
        within = self.value >= self.limit if self.at_least else self.value <= self.limit
        return bool(within and (np.isfinite(self.value) or self.at_least))

    def __str__(self) -> str:
        relation = ">=" if self.at_least else "<="
        verdict = "" if self.holds else "  MISSED"
        return f"{self.name}: {self.value:.4g} ({relation} {self.limit:.4g}){verdict}"


def relative_rms(values: Array, reference: Array) -> float:
    """Returns the RMS of the difference over the RMS of the reference; 0.01 is 40 dB."""
    difference = values.astype(np.float64) - reference
    return float(np.sqrt(np.square(difference).mean() / np.square(reference, dtype=np.float64).mean()))


def snr(values: Array, reference: Array) -> float:
    """Returns the signal-to-noise ratio in dB; infinite where both are equal."""
    distance = relative_rms(values, reference)
    return float("inf") if distance == 0 else -20 * float(np.log10(distance))


def relative_maximum(values: Array, reference: Array) -> float:
    """Returns the greatest difference over the RMS of the reference."""
    wide = reference.astype(np.float64)
    return float(np.abs(values - wide).max() / np.sqrt(np.square(wide).mean()))


def log_mel(audio: Array, bands: int = 80) -> NDArray[np.float64]:
    """Returns the logarithm of the mel spectrum of 24 kHz samples: 1024-point Hann windows, 256 apart."""
    size, step, rate = 1024, 256, SAMPLE_RATE
    padded = np.pad(audio.reshape(-1).astype(np.float64), size // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[::step] * np.hanning(size + 1)[:-1]
    power = np.square(np.abs(np.fft.rfft(windows)))
    mel = np.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), bands + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    frequency = np.fft.rfftfreq(size, 1 / rate)
    rising = (frequency - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequency) / (edges[2:] - edges[1:-1])[:, None]
    spectrum: NDArray[np.float64] = np.log(power @ np.clip(np.minimum(rising, falling), 0, None).T + 1e-8)
    return spectrum


def log_mel_distance(one: Array, other: Array) -> float:
    """Returns the RMS difference of the log-mel spectra of two signals of one length."""
    return float(np.sqrt(np.square(log_mel(one) - log_mel(other)).mean()))


def spectrum_snr(values: Array, reference: Array) -> float:
    """Returns the signal-to-noise ratio in dB of spectra, magnitudes then phases ``[1, 2 * bins, time]``.

    They are compared as complex numbers: where a magnitude is next to nothing, any phase will do.
    """
    return snr(_real_and_imaginary(values), _real_and_imaginary(reference))


def turned_phases(values: Array, reference: Array) -> float:
    """Counts phases that lie on the other side of the cut at pi than the reference's; takes `spectrum_snr`'s.

    Rounding decides about the side of those near the cut, which are not counted. The first and the last bin
    are real: their phases are 0 or +pi, and all others are counted.
    """
    phases, expected = np.split(values, 2, axis=1)[1], np.split(reference, 2, axis=1)[1]
    imaginary = np.abs(_real_and_imaginary(reference)[:, reference.shape[1] // 2 :])
    size = np.sqrt(2 * np.square(_real_and_imaginary(reference)).mean())
    turned = ~(np.abs(phases - expected) <= np.pi) & (imaginary > NEAR_THE_CUT * size)
    ends = phases[:, [0, -1]]
    turned[:, [0, -1]] = (ends != 0) & (ends != np.float32(np.pi))
    return float(turned.sum())


def _real_and_imaginary(spectrum: Array) -> NDArray[np.float64]:
    """Returns real and then imaginary parts of magnitudes and then phases."""
    magnitude, phase = np.split(spectrum.astype(np.float64), 2, axis=1)
    return np.concatenate([magnitude * np.cos(phase), magnitude * np.sin(phase)], axis=1)


def level_difference(audio: Array, reference: Array) -> float:
    """Returns the difference of the levels (RMS) of two signals, in decibels."""
    one, other = (float(np.sqrt(np.square(each, dtype=np.float64).mean())) for each in (audio, reference))
    if one == other:
        return 0.0
    return abs(20 * float(np.log10(one / other))) if one > 0 and other > 0 else float("inf")
