"""Silence at the ends of speech."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WINDOW = 240
"""10 ms."""
_QUIET = 1e-3
"""60 dB below the loudest window is silence."""
_MARGIN = 2
"""Windows that stay on either side of the speech, so that no first sound is clipped."""


def find_speech(samples: NDArray[np.float32]) -> tuple[int, int]:
    """Returns the bounds of the speech in `samples`, or of the whole array if all of it is silent."""
    count = len(samples) // _WINDOW
    windows = samples[: count * _WINDOW].astype(np.float64).reshape(count, _WINDOW)
    level = np.sqrt((windows**2).mean(axis=1))
    loud = np.flatnonzero(level > _QUIET * level.max(initial=0.0))
    if not len(loud):
        return 0, len(samples)
    last = int(loud[-1]) + 1 + _MARGIN
    return max(0, int(loud[0]) - _MARGIN) * _WINDOW, len(samples) if last >= count else last * _WINDOW
