"""Turns predicted durations into frames: rounds them, and repeats each token's column for its duration.

kokoro multiplies by a matrix of zeros and ones instead; the result is the same to the bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine.vm import aligned_memory
from ..errors import ModelOutputError

_MOST_FRAMES = 1 << 24
_HALVINGS = 24


def round_durations(predicted: NDArray[np.float32], speed: float) -> NDArray[np.int64]:
    """Returns the number of frames of each token: ``max(1, round_half_even(predicted / speed))`` in float32.

    Args:
        predicted: frames at speed 1, not rounded, float32 ``[1, tokens]``.
        speed: a checked speed; 2 is twice as fast.

    Returns:
        int64 ``[tokens]``.

    Raises:
        ModelOutputError: a prediction is NaN or infinite.
    """
    if not np.isfinite(predicted).all():
        raise ModelOutputError(
            "The stage 'duration' computed durations that are not finite: expected numbers. "
            "The weights are damaged or the libraries wrong; verify the bundle or export it again."
        )
    with np.errstate(over="ignore"):
        frames: NDArray[np.float32] = np.rint(predicted[0] / np.float32(speed))
    # Far more than any bundle holds, and far less than what an integer of 64 bits does.
    return frames.clip(1, _MOST_FRAMES).astype(np.int64)


def fitted_speed(predicted: NDArray[np.float32], speed: float) -> float:
    """Returns the speed for `round_durations` whose frames add up to those of speed 1 over `speed`.

    Rounding makes the model's own speech longer or shorter than that by 2 to 4 %. Arguments and errors are
    those of `round_durations`. The sum is the largest that does not exceed the wanted one, to 2⁻²⁴ of a speed
    between a half of `speed` and twice as much.
    """
    if speed == 1:
        return speed
    wanted = int(round_durations(predicted, 1.0).sum()) / speed
    slow, fast = speed / 2, speed * 2
    for _ in range(_HALVINGS):
        middle = (slow + fast) / 2
        if int(round_durations(predicted, middle).sum()) > wanted:
            slow = middle
        else:
            fast = middle
    return fast


def align(features: NDArray[np.float32], durations: NDArray[np.int64]) -> NDArray[np.float32]:
    """Repeats each token's column of `features` for its duration.

    Args:
        features: float32 ``[1, channels, tokens]``.
        durations: frames of each token, int64 ``[tokens]``.

    Returns:
        float32 ``[1, channels, sum(durations)]``, where compiled code can read it without a copy.
    """
    columns = np.repeat(np.arange(features.shape[2]), durations)
    aligned = aligned_memory((*features.shape[:2], len(columns)), features.dtype)
    # With any other mode numpy computes in a buffer first.
    return features.take(columns, axis=2, out=aligned, mode="clip")
