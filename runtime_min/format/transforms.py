"""Weights that are stored as the model has them, and that kernels take transformed for Winograd's method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = tuple[tuple[float, ...], ...]


def transformed(taps: NDArray[np.floating[Any]], matrix: Matrix) -> NDArray[np.float32]:
    """Returns weights ``[blocks, taps, in, lanes]`` transformed to ``[blocks, products, in, lanes]``.

    A number is the sum of a row of the matrix times the taps, from the first on, in float64, rounded once.
    So every reader has the same bits, which BLAS does not promise.
    """
    products = np.empty((len(taps), len(matrix), *taps.shape[2:]), np.float32)
    for block, stored in zip(products, taps, strict=True):
        exact = stored.astype(np.float64)
        for product, row in zip(block, matrix, strict=True):
            total = row[0] * exact[0]
            for factor, tap in zip(row[1:], exact[1:], strict=True):
                total += factor * tap
            product[:] = total
    return products


def loaded(taps: NDArray[np.float16], matrix: Matrix) -> NDArray[np.float16]:
    """Returns weights as the kernels take them: `transformed`, and rounded to float16."""
    # What float16 cannot hold becomes infinite, as in the C library.
    with np.errstate(over="ignore", invalid="ignore"):
        return transformed(taps, matrix).astype(np.float16)
