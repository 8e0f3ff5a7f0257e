"""Multilinear hashing: the features of the linear models are combinations of values, by their hashes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
MULTIPLIER = 0x9E3779B97F4A7C15


def factors(combinations: Sequence[Sequence[int]], values: int, first: int, stride: int) -> Hashes:
    """Returns a factor for each value of each combination, 0 for those that are not in it.

    Args:
        combinations: the values of each feature, by their positions.
        values: the number of values.
        first: where the powers of the multiplier begin; other features begin elsewhere.
        stride: how far apart the powers of two combinations begin.

    Returns:
        The factors, of shape (combinations, values + 1); the last is for a constant 1.
    """
    result = np.zeros((len(combinations), values + 1), np.uint64)
    for index, combination in enumerate(combinations):
        for position in [*combination, values]:
            result[index, position] = pow(MULTIPLIER, first + stride * index + position, 1 << 64)
    return result


def upper_half(hashes: Hashes) -> Hashes:
    """Returns the upper 32 bits of hashes, which depend on all bits of the values."""
    return hashes >> np.uint64(32)
