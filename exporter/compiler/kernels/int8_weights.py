"""Weights of a convolution as int8 with a scale for each group, as `kernels.conv1d` reads them."""

import math

import numpy as np
from numpy.typing import NDArray

Int8 = NDArray[np.int8]
Half = NDArray[np.float16]
_GREATEST = np.float32(127)
_LEAST = np.float32(32)
"""Rounding that has used fewer numbers is not one to 8 or 7 bits."""


def summed_together(taps: int) -> int:
    """Returns how many input channels are summed before the sum is added to the total: about 64 products.

    A sum of n products in one register loses about sqrt(n/2) units of rounding, and there are up to 3270.
    With 64, F0 and N are half as far from float64 as PyTorch's; shorter sums gain nothing more.
    """
    return 1 << int(math.log2(64 / taps))


def quantise(weight: NDArray[np.float32]) -> tuple[Int8, Half]:
    """Rounds a weight [out, in, taps] to multiples of scales.

    The weights that a kernel sums together share a scale, so that it multiplies their sum once. A scale has
    11 bits: the product with a number of int8 is exact in float32, and a reference can compute with it.
    Weights that were rounded to 8 bits before keep their numbers; only the scale is rounded again.

    Returns:
        The numbers, from -127 to 127, and the scales [out, groups]; infinite where float16 has no such scale.
    """
    out, channels, taps = weight.shape
    group = summed_together(taps)
    padded = np.pad(weight, ((0, 0), (0, -channels % group), (0, 0)))
    groups = padded.reshape(out, -1, group * taps)
    step = _step(weight)
    if step is not None:
        kept = np.rint(weight / step).astype(np.int8)
        return kept, np.full(groups.shape[:2], step, np.float16)
    most = np.abs(groups).max(axis=2)
    # The caller looks for scales that are not finite.
    with np.errstate(over="ignore", invalid="ignore"):
        scales = (most / _GREATEST).astype(np.float16)
        # The next greater float16 where rounding went down, and never 0.
        scales = np.where(scales * _GREATEST < most, np.nextafter(scales, np.float16(np.inf)), scales)
        scales = np.maximum(scales, np.finfo(np.float16).smallest_subnormal)
        numbers = np.rint(groups / scales[:, :, None].astype(np.float32)).astype(np.int8)
    return numbers.reshape(out, -1, taps)[:, :channels], scales


def _step(weight: NDArray[np.float32]) -> np.float32 | None:
    """Returns the scale with which weights were rounded to 8 bits before; None if they were not."""
    step = np.abs(weight).min(initial=np.inf, where=weight != 0)
    if not np.finfo(np.float16).tiny <= step <= np.finfo(np.float16).max:
        return None
    numbers = np.rint(weight / step)
    if not _LEAST <= np.abs(numbers).max() <= _GREATEST or not np.array_equal(numbers * step, weight):
        return None
    return np.float32(step)


def expand(numbers: Int8, scales: Half) -> NDArray[np.float32]:
    """Returns the rounded weight [out, in, taps] from the results of `quantise`, exact in float32."""
    _, channels, taps = numbers.shape
    each = np.repeat(scales.astype(np.float32), summed_together(taps), axis=1)[:, :channels, None]
    expanded: NDArray[np.float32] = numbers * each
    return expanded
