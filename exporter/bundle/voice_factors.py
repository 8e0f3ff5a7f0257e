"""Voices as products of two small matrices: their rows vary slowly with the length of the input."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST_ERROR = 2.0**-14
"""Largest error of a value, as a share of the largest in its row: an eighth of float16's rounding."""


def voice_factors(table: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """Returns two matrices whose product, as a reader computes it, is nearly `table`.

    Each step takes the row and the column of the largest remainder (cross approximation with complete
    pivoting). That needs a rank or two more than a singular value decomposition, but no sum whose order, and
    so whose rounding, depends on the processor.

    Args:
        table: style rows, float32 ``[rows, columns]``.

    Returns:
        Float32 ``[rows, rank]`` and ``[rank, columns]``; or None if they are not smaller than the table.
    """
    rows, columns = table.shape
    most = (rows * columns - 1) // (rows + columns)
    allowed = LARGEST_ERROR * np.abs(table).max(axis=1, keepdims=True)
    left: list[NDArray[np.float32]] = []
    right: list[NDArray[np.float32]] = []
    product, remainder = np.zeros_like(table), table.astype(np.float64)
    while (np.abs(table - product) > allowed).any():
        if len(left) == most:
            return None
        row, column = divmod(int(np.argmax(np.abs(remainder))), columns)
        left.append((remainder[:, column] / remainder[row, column]).astype(np.float32))
        right.append(remainder[row].astype(np.float32))
        product += left[-1][:, None] * right[-1]
        remainder -= left[-1].astype(np.float64)[:, None] * right[-1]
    return (np.stack(left, axis=1), np.stack(right)) if left else None
