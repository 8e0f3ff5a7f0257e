"""Makes speech faster or slower and leaves its pitch: waveform similarity overlap-add.

The result consists of blocks. Each fades from the samples that follow the block before to those at its own
place in time, which is moved by about 8 ms at most, to where both swing alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .join import LARGEST_SHIFT, best_place, crossfade

Samples = NDArray[np.float32]

SLOWEST, FASTEST = 0.6, 1.1
"""Speeds that the model itself goes well."""
BLOCK = 480
"""20 ms."""
_COARSE = 4
"""Every fourth shift is tried, and then those around the best one."""
_MARGIN = 3_000
"""Zeros around the samples: more than a block is moved or reaches beyond them."""


def model_speed(speed: float) -> float:
    """Returns the speed of the model for speech at `speed`: the same within its range, or 1."""
    return speed if SLOWEST <= speed <= FASTEST else 1.0


def stretched_length(count: int, speed: float) -> int:
    """Returns the number of samples to which `stretch` brings `count`."""
    return round(count / speed)


def stretch(samples: Samples, speed: float) -> Samples:
    """Returns the samples at another speed, float32 ``[stretched_length(n, speed)]``.

    Args:
        samples: speech, ``[n]``.
        speed: from 0.25 to 4; 2 is twice as fast.
    """
    count = stretched_length(len(samples), speed)
    padded = np.pad(samples, _MARGIN)
    blocks = []
    place = _MARGIN
    for end in range(BLOCK, count + BLOCK, BLOCK):
        left = padded[place : place + BLOCK]
        start = _MARGIN + end * len(samples) // count - BLOCK
        start = best_place(left, padded, start - LARGEST_SHIFT, _COARSE, 2 * LARGEST_SHIFT // _COARSE + 1)
        start = best_place(left, padded, start - _COARSE + 1, 1, 2 * _COARSE - 1)
        blocks.append(crossfade(left, padded[start : start + BLOCK]))
        place = start + BLOCK
    return np.concatenate(blocks)[:count]
