"""Spectrograms of the report's page, as PNG files within it."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import numpy as np
from numpy.typing import NDArray

from exporter.reference.process import Array
from exporter.validate.report.plots import COLUMNS

FLOOR = -100.0
"""dB below the loudest of the reference that are drawn black."""
_WINDOW, _HOP, _BANDS = 1024, 256, 171
_AT_ONCE = 4096
"""Windows; bounds the memory."""
_ANCHORS = np.array(
    [
        *((6, 7, 18), (30, 17, 70), (76, 21, 105), (124, 33, 108), (170, 49, 95), (211, 71, 74)),
        *((240, 106, 47), (251, 152, 23), (247, 203, 70), (252, 255, 200)),
    ],
    float,
)
"""Even in lightness, and so readable without colour."""


def power(audio: Array) -> NDArray[np.float64]:
    """Mean power of each of at most `COLUMNS` stretches of 24 kHz samples in 171 bands, [bands, columns]."""
    samples = np.nan_to_num(audio.reshape(-1).astype(np.float64), posinf=0.0, neginf=0.0)
    padded = np.pad(samples, _WINDOW // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP]
    hann = np.hanning(_WINDOW + 1)[:-1]
    found = [_bands(windows[start : start + _AT_ONCE] * hann) for start in range(0, len(windows), _AT_ONCE)]
    bands = np.concatenate(found)
    starts = np.unique(np.linspace(0, len(bands), min(COLUMNS, len(bands)), endpoint=False).astype(int))
    sums = np.add.reduceat(bands, starts)
    return np.asarray((sums / np.diff([*starts, len(bands)])[:, None]).T)


def image(spectrum: NDArray[np.float64], loudest: float) -> str:
    """A spectrogram as a data URI.

    Args:
        spectrum: of `power`.
        loudest: power that is drawn brightest.
    """
    decibels = 10 * np.log10(np.maximum(spectrum / (loudest or 1.0), 1e-30))
    levels = np.clip((1 - decibels / FLOOR) * 255, 0, 255).round().astype(np.uint8)
    return "data:image/png;base64," + b64encode(png(levels[::-1], palette())).decode()


def palette() -> NDArray[np.uint8]:
    """The 256 colours, [256, 3], dark to bright."""
    place = np.linspace(0, 255, len(_ANCHORS))
    channels = [np.interp(np.arange(256), place, anchors) for anchors in _ANCHORS.T]
    return np.stack(channels, axis=1).round().astype(np.uint8)


def png(levels: NDArray[np.uint8], colours: NDArray[np.uint8]) -> bytes:
    """A PNG file (https://www.w3.org/TR/png-3/) of a picture with a palette.

    Args:
        levels: [height, width], index of the colour of each pixel.
        colours: [256, 3], red, green and blue.
    """
    height, width = levels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    # Each row begins with its filter: none.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), levels], axis=1)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", colours.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _bands(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """[windows, bands], three bins of the Fourier transform a band."""
    bins = np.square(np.abs(np.fft.rfft(windows)))
    return np.asarray(bins.reshape(len(bins), _BANDS, 3).mean(axis=2))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
