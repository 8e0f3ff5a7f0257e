"""Measures of sound: the level of single words, and the pitch at the ends of phrases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime_min.format.signatures import FRAMES_PER_SECOND, SAMPLE_RATE
from runtime_min.speech.timing import LEAD_FRAMES, Timing

MARKS = ".,;:!?"
LEAD = LEAD_FRAMES / FRAMES_PER_SECOND
"""Seconds by which the times of words are earlier than their sound."""
_RATE = 48_000
"""Samples a second for which ITU-R BS.1770 gives its filters,"""
_SHELF = ((1.53512485958697, -2.69169618940638, 1.19839281085285), (1.0, -1.69065929318241, 0.73248077421585))
_HIGH_PASS = ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621))
"""each as the coefficients above and below the line."""
_WINDOW, _STEP = 1_200, 240
"""Samples in which a pitch is found, 50 ms, and between two of them."""
_END = 0.4
"""Seconds before the end of a phrase that are looked at."""
_LOWEST, _HIGHEST = 60.0, 400.0
"""Hertz."""


def cut(samples: NDArray[Any], span: Timing) -> NDArray[Any]:
    """Returns the samples of a span of time."""
    return samples[round((span.start + LEAD) * SAMPLE_RATE) : round((span.end + LEAD) * SAMPLE_RATE)]


def k_weighted(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the samples with the weights of ITU-R BS.1770, for words too short for its loudness."""
    count = 2 * len(samples)
    shift = np.exp(-2j * np.pi * np.fft.rfftfreq(count, 1 / SAMPLE_RATE) / _RATE)
    response = np.ones_like(shift)
    for above, below in (_SHELF, _HIGH_PASS):
        response *= np.polyval(above[::-1], shift) / np.polyval(below[::-1], shift)
    found: NDArray[np.float64] = np.fft.irfft(np.fft.rfft(samples, count) * response, count)[: len(samples)]
    return found


def level(samples: NDArray[np.floating]) -> float:
    """Returns the mean power in dB."""
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64)) + 1e-12))


def phrase_end(samples: NDArray[np.float32], end: float) -> tuple[float, float] | None:
    """Returns the pitch before an end in semitones above 100 Hz, and its slope in semitones a second.

    Args:
        samples: speech.
        end: seconds.
    """
    last = round(end * SAMPLE_RATE)
    starts = range(max(0, last - round(_END * SAMPLE_RATE)), last - _WINDOW, _STEP)
    found = [(start / SAMPLE_RATE, _pitch(samples[start : start + _WINDOW])) for start in starts]
    voiced = np.array([(at, pitch) for at, pitch in found if pitch is not None])
    if len(voiced) < 8:
        return None
    slope = np.polyfit(voiced[:, 0], voiced[:, 1], 1)[0]
    return float(np.median(voiced[:, 1])), float(slope)


def _pitch(window: NDArray[np.float32]) -> float | None:
    """Returns the pitch by autocorrelation, None where there is none."""
    if len(window) < _WINDOW:
        return None
    centred = (window - window.mean()) * np.hanning(_WINDOW)
    spectrum = np.abs(np.fft.rfft(centred, 2 * _WINDOW)) ** 2
    power = np.fft.irfft(spectrum)[:_WINDOW] / (1 - np.arange(_WINDOW) / _WINDOW * 0.9)
    least, most = round(SAMPLE_RATE / _HIGHEST), round(SAMPLE_RATE / _LOWEST)
    lag = least + int(np.argmax(power[least:most]))
    if power[0] < 1e-3 or power[lag] < 0.4 * power[0]:
        return None
    return float(12 * np.log2(SAMPLE_RATE / lag / 100))
