"""Code of Winograd transforms: a fixed matrix times vectors of channels, in additions and few products."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T

from exporter.compiler.kernels.winograd_schemes import Matrix, opposites

Sample = Callable[[int], Any]


def combine(row: NDArray[np.float64], sample: Sample) -> Any:
    """Returns the sum of row[i] * sample(i) over the entries that are not zero."""
    total = None
    for index in np.flatnonzero(row):
        factor = float(np.float32(row[index]))
        term = sample(int(index)) if factor == 1 else sample(int(index)) * T.float32(factor)
        total = term if total is None else total + term
    return total


def entries(buffer: Any, *place: Any) -> Sample:
    """Returns a function from a row of a buffer to its element at `place`."""
    return lambda index: buffer[(index, *place)]


def analyse(matrix: Matrix, lanes: int, sample: Callable[[int, Any], Any], values: Any) -> None:
    """Emits values = matrix @ samples for a vector of channels."""
    even = np.arange(matrix.shape[1]) % 2 == 0
    for first, second, sign in opposites(matrix):
        for row in (first, second):
            if row is not None:
                with T.vectorized(lanes) as lane:

                    def at(index: int, lane: Any = lane) -> Any:
                        return sample(index, lane)

                    if second is None:
                        value = combine(matrix[row], at)
                    else:
                        evens, odds = combine(matrix[first] * even, at), combine(matrix[first] * ~even, at)
                        value = evens + odds if row == first else evens - odds if sign > 0 else odds - evens
                    T.buffer_store(values, value, [row, lane])


def synthesise(matrix: Matrix, lanes: int, values: Any, sums: Any, results: Any) -> None:
    """Emits results = matrix @ values for a vector of channels."""
    groups = opposites(matrix.T)
    for index, (first, second, sign) in enumerate(groups):
        # First the sums for the even outputs, then those for the odd ones.
        for odd in range(2):
            with T.vectorized(lanes) as lane:
                value = values[first, lane]
                if second is not None:
                    added = (sign > 0) != bool(odd)
                    value = value + values[second, lane] if added else value - values[second, lane]
                T.buffer_store(sums, value, [index, odd, lane])
    for output in range(len(matrix)):
        with T.vectorized(lanes) as lane:
            row = np.array([matrix[output, first] for first, _, _ in groups])
            value = combine(row, entries(sums, output % 2, lane))
            T.buffer_store(results, value, [output, lane])
