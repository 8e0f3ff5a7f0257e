"""Winograd (Toom-Cook) transforms F(m, r): m outputs of an r-tap filter with few multiplications.

After Winograd, "Arithmetic complexity of computations" (1980), in the form of Lavin and Gray (2015). A
filter and m + r - 1 samples are evaluated at that many points, multiplied there, and interpolated. A real
point takes one multiplication; a pair of conjugate complex points takes three (Karatsuba's). The more real
points, the more digits are lost; points on the unit circle lose none, as in a Fourier transform. With both,
more outputs share a transform, and the result is more precise.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from runtime_min.format.transforms import transformed

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Scheme:
    """F(outputs, taps) at real points, infinity, and pairs of conjugate points of the unit circle.

    Samples are mapped to as many *values*: one for each real point, real and imaginary part for each pair.
    Products are made of sums of values. Each product's factors are multiplied by a power of two and its
    values divided by it, which changes no digit. It keeps factors as large as the taps: without it they reach
    down to 2**-11 of them, where float16 has lost its digits.

    Attributes:
        outputs: samples that one transform gives.
        taps: of the filter.
        real: finite real points.
        turns: angles of the complex points as parts of a turn, between 0 and 1/2.
    """

    outputs: int
    taps: int
    real: tuple[float, ...]
    turns: tuple[float, ...] = ()

    @property
    def samples(self) -> int:
        """Samples that one transform reads; also the number of values."""
        return self.outputs + self.taps - 1

    @property
    def products(self) -> int:
        """Multiplications for each transform."""
        return len(self.real) + 1 + 3 * len(self.turns)

    @cached_property
    def _points(self) -> list[complex]:
        roots = [np.exp(2j * np.pi * turn) for turn in self.turns]
        return [*self.real, *roots]

    def _interpolation(self, point: complex) -> NDArray[np.complex128]:
        """Coefficients of the product of x - p over all other points, lowest order first."""
        others = [*self._points, *(root.conjugate() for root in self._points[len(self.real) :])]
        others.remove(point)
        return np.asarray(np.poly(others)[::-1], np.complex128)

    def _values_of(self, rows: list[NDArray[np.complex128]], infinity: Matrix) -> Matrix:
        """Rows of the real points, of infinity, and real and imaginary rows of the complex points."""
        count = len(self.real)
        parts = [part for row in rows[count:] for part in (row.real, row.imag)]
        values = np.array([*(row.real for row in rows[:count]), infinity, *parts])
        # Rounding leaves small numbers in place of zeros, and these would be multiplied.
        return np.where(np.abs(values) < 1e-12, 0, values)

    @cached_property
    def _scales(self) -> Matrix:
        """The power of two of each value's products, [samples]."""
        sizes = np.linalg.norm(self._unscaled_factors, axis=1)
        count = len(self.real) + 1
        pairs = np.repeat(sizes[count:].reshape(-1, 3).max(axis=1), 2)
        # Opposite points have equal sizes but for rounding.
        exponents = np.round(np.round(np.log2([*sizes[:count], *pairs]), 6))
        return np.asarray(2.0**-exponents, np.float64)

    @cached_property
    def analysis(self) -> Matrix:
        """Values of samples, [samples, samples]."""
        rows = [np.append(self._interpolation(point), 0) for point in self._points]
        roots = [*self._points, *(root.conjugate() for root in self._points[len(self.real) :])]
        values = self._values_of(rows, np.asarray(np.poly(roots)[::-1].real, np.float64))
        return values / self._scales[:, None]

    @cached_property
    def spread(self) -> Matrix:
        """Factors of the products from values, [products, samples]: for a pair a + b, a and b."""
        count = len(self.real) + 1
        matrix = np.zeros((self.products, self.samples))
        matrix[:count, :count] = np.eye(count)
        for pair in range(len(self.turns)):
            rows, columns = count + 3 * pair, count + 2 * pair
            matrix[rows : rows + 3, columns : columns + 2] = [[1, 1], [1, 0], [0, 1]]
        return matrix

    @cached_property
    def filter_transform(self) -> Matrix:
        """Factors of the products from taps, [products, taps]: for a pair c, d - c and c + d."""
        count = len(self.real) + 1
        pairs = np.repeat(self._scales[count::2], 3)
        return self._unscaled_factors * np.append(self._scales[:count], pairs)[:, None]

    @cached_property
    def matrix(self) -> tuple[tuple[float, ...], ...]:
        """The same as rows of numbers, as the manifest has it."""
        return tuple(tuple(row) for row in self.filter_transform.tolist())

    @cached_property
    def _unscaled_factors(self) -> Matrix:
        powers = np.arange(self.taps)
        rows = []
        for point in self._points:
            scale = np.polyval(self._interpolation(point)[::-1], point)
            rows.append(np.asarray(point, np.complex128) ** powers / scale)
        values = self._values_of(rows, np.eye(self.taps)[-1])
        count = len(self.real) + 1
        pairs = values[count:].reshape(-1, 2, self.taps)
        products = [row for c, d in pairs for row in (c, d - c, c + d)]
        return np.array([*values[:count], *products])

    @cached_property
    def gather(self) -> Matrix:
        """Values of the result from products, [samples, products]: for a pair k1 - k3 and k1 + k2."""
        count = len(self.real) + 1
        matrix = np.zeros((self.samples, self.products))
        matrix[:count, :count] = np.eye(count)
        for pair in range(len(self.turns)):
            rows, columns = count + 2 * pair, count + 3 * pair
            matrix[rows : rows + 2, columns : columns + 3] = [[1, 0, -1], [1, 1, 0]]
        return matrix

    @cached_property
    def synthesis(self) -> Matrix:
        """Outputs from values of the result, [outputs, samples]."""
        powers = np.arange(self.outputs)
        rows = [np.asarray(point, np.complex128) ** powers for point in self._points]
        rows[len(self.real) :] = [2 * row.conjugate() for row in rows[len(self.real) :]]
        return self._values_of(rows, np.eye(self.outputs)[-1]).T


def opposites(rows: Matrix) -> list[tuple[int, int | None, int]]:
    """Groups rows a, b with b[i] = sign * (-1)**i * a[i] into (a, b, sign); (a, None, 1) stays alone.

    The even and the odd entries' parts of a product with a are, added or subtracted, those with b.
    """
    alternating = (-1.0) ** np.arange(rows.shape[1])
    found: list[tuple[int, int | None, int]] = []
    left = list(range(len(rows)))
    while left:
        first = left.pop(0)
        tolerance = 1e-9 * np.abs(rows[first]).max()
        for other, sign in ((other, sign) for other in left for sign in (1, -1)):
            if np.abs(rows[other] - sign * alternating * rows[first]).max() < tolerance:
                left.remove(other)
                found.append((first, other, sign))
                break
        else:
            found.append((first, None, 1))
    return found


def _unit(order: int) -> tuple[float, ...]:
    """The roots of unity of this even order between 1 and -1, as turns."""
    return tuple(index / order for index in range(1, order // 2))


def _opposite(*points: float) -> tuple[float, ...]:
    return (0.0, *(sign * point for point in points for sign in (1, -1)))


SCHEMES: dict[int, Scheme] = {
    2: Scheme(5, 2, _opposite(1, 2)),
    3: Scheme(6, 3, _opposite(1, 2, 1 / 2)),
    7: Scheme(8, 7, _opposite(1, 2, 1 / 2, 3 / 2, 3 / 4), _unit(4)),
    11: Scheme(14, 11, _opposite(1, 2, 1 / 2, 3 / 2, 3 / 4), _unit(14)),
}
"""Schemes by the number of taps of a convolution."""


def transform_weight(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the factors [out, in, products] of a weight [out, in, taps], in float64 and rounded once."""
    taps = np.ascontiguousarray(weight.transpose(2, 0, 1))[None]
    factors: NDArray[np.float32] = transformed(taps, SCHEMES[weight.shape[2]].matrix)[0]
    return factors.transpose(1, 2, 0)
