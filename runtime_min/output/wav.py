"""Samples as bytes: bare, or below the header of a WAV file."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentTypeError, UsageError
from .formats import SAMPLES

_PCM, _IEEE_FLOAT = 1, 3
LARGEST = 0xFFFFFFFF
"""The largest size, which players of streams take for one that is not known yet."""


def encode(samples: NDArray[np.float32], sample_format: str = "pcm16") -> bytes:
    """Returns samples as little-endian bytes.

    Args:
        samples: float32 ``[n]``, full scale is 1.
        sample_format: ``pcm16`` clips the samples to full scale and rounds them to 16 bits. There is no
            dither: the error is 101 dB below full scale, and silence stays silent. ``float`` keeps the
            samples as they are.

    Raises:
        UsageError: an argument is something else.
    """
    samples = checked_samples(samples)
    if check_format(sample_format) == "float":
        return samples.astype("<f4").tobytes()
    rounded: NDArray[np.float32] = np.rint(np.clip(samples, -1.0, 1.0) * 32767.0)
    return rounded.astype("<i2").tobytes()


def checked_samples(samples: Any) -> NDArray[np.float32]:
    """Returns samples if they are finite numbers ``[n]``.

    Raises:
        ArgumentTypeError: they are something else.
    """
    try:
        found = np.asarray(samples)
    except (TypeError, ValueError, RuntimeError):
        found = np.asarray(None)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.floating) or not np.isfinite(found).all():
        raise ArgumentTypeError("samples", "a float array [n] of finite numbers", samples)
    return found


def check_format(sample_format: object) -> str:
    """Returns a format of samples.

    Raises:
        UsageError: it is not one of `SAMPLES`.
    """
    if isinstance(sample_format, str) and sample_format in SAMPLES:
        return sample_format
    raise UsageError(f"The samples' format must be {' or '.join(SAMPLES)}, found {sample_format!r}.")


def check_rate(sample_rate: object) -> int:
    """Returns a sample rate.

    Raises:
        ArgumentTypeError: it is not a positive integer that a WAV file can hold.
    """
    if isinstance(sample_rate, (int, np.integer)) and 0 < sample_rate <= LARGEST // 4:
        return int(sample_rate)
    raise ArgumentTypeError("sample_rate", "a positive integer (Hz)", sample_rate)


def wav_header(sample_rate: int, sample_format: str, samples: int | None) -> bytes:
    """Returns the header of a mono WAV file.

    Args:
        sample_rate: in Hz.
        sample_format: as in `encode`.
        samples: number of samples that follow; None if it is not known yet.

    Raises:
        UsageError: an argument is something else.
    """
    sample_rate = check_rate(sample_rate)
    if samples is not None and not (isinstance(samples, int) and 0 <= samples <= LARGEST // 4):
        raise ArgumentTypeError("samples", "a number of samples that a WAV file holds, or None", samples)
    code, width = (_PCM, 2) if check_format(sample_format) == "pcm16" else (_IEEE_FLOAT, 4)
    content = struct.pack("<HHIIHH", code, 1, sample_rate, sample_rate * width, width, 8 * width)
    count = LARGEST if samples is None else samples
    if code == _IEEE_FLOAT:
        # Everything but PCM carries the size of an extension and the number of samples.
        content += struct.pack("<H", 0)
        fact = struct.pack("<4sII", b"fact", 4, count)
    else:
        fact = b""
    chunks = struct.pack("<4sI", b"fmt ", len(content)) + content + fact
    data_bytes = LARGEST if samples is None else samples * width
    riff_bytes = LARGEST if samples is None else 4 + len(chunks) + 8 + data_bytes
    return (
        struct.pack("<4sI4s", b"RIFF", riff_bytes, b"WAVE")
        + chunks
        + struct.pack("<4sI", b"data", data_bytes)
    )
