"""The noise of the harmonic source, from a generator whose stream never changes.

numpy keeps the raw output of its bit generators stable for ever, but not what `numpy.random.Generator`
makes of it. So the runtime takes raw words of Philox4x64-10 and turns them into Gaussians itself, by the
method of Box and Muller ("A Note on the Generation of Random Normal Deviates", 1958).
`bundles/FORMAT.md` has test vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from ..engine.vm import aligned_memory

_UNIT = 2.0**-53
_PAIRS = 8192
"""Pairs that are computed at once; their float64 intermediates fit the L2 cache."""


def gaussian_noise(seed: int, count: int) -> NDArray[np.float32]:
    """Returns the first `count` numbers of the Gaussian stream of `seed`.

    A longer stream begins with the shorter one. Each pair of raw 64-bit words ``(a, b)`` gives the pair
    ``r cos t, r sin t`` with ``r = sqrt(-2 ln(((a >> 11) + 1) / 2**53))`` and ``t = 2 pi (b >> 11) / 2**53``,
    computed in float64 and rounded to float32.

    Args:
        seed: from 0 to 2**64 - 1.
        count: number of values.

    Returns:
        float32 ``[count]``, mean 0, variance 1, where compiled code can read it without a copy.
    """
    noise = aligned_memory(((count + 1) // 2, 2), np.dtype(np.float32))
    generator = Philox(key=seed)
    for first in range(0, len(noise), _PAIRS):
        pairs = noise[first : first + _PAIRS]
        words = generator.random_raw(pairs.size).reshape(pairs.shape) >> np.uint64(11)
        radius = np.sqrt(-2.0 * np.log((words[:, 0] + np.uint64(1)) * _UNIT))
        angle = words[:, 1] * (2.0 * np.pi * _UNIT)
        pairs[:, 0] = radius * np.cos(angle)
        pairs[:, 1] = radius * np.sin(angle)
    return noise.reshape(-1)[:count]
