"""Silence at the ends of speech."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WINDOW = 240
"""10 ms."""
_QUIET = 1e-2
"""40 dB below the loudest window is silence."""
START_SILENCE = 480
"""20 ms before the first window of speech stay, in which soft sounds begin."""


def levels(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the RMS of each window of 10 ms; the last one may be shorter."""
    squares = samples.astype(np.float64) ** 2
    whole = len(squares) - len(squares) % _WINDOW
    means = squares[:whole].reshape(-1, _WINDOW).mean(axis=1)
    if whole < len(squares):
        means = np.append(means, squares[whole:].mean())
    found: NDArray[np.float64] = np.sqrt(means)
    return found


def find_speech(level: NDArray[np.float64], loudest: float) -> tuple[int, int] | None:
    """Returns the first sample of speech and the one after its last window, or None if all is silent.

    Args:
        level: levels of windows.
        loudest: the greatest level of the whole speech so far.
    """
    loud = np.flatnonzero(level > _QUIET * loudest)
    return (int(loud[0]) * _WINDOW, (int(loud[-1]) + 1) * _WINDOW) if len(loud) else None
