"""Samples as WAV or bare PCM, at once or as they come."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import OutputError
from .writer import Output

FORMATS = ("float", "pcm16")
_PCM, _IEEE_FLOAT = 1, 3
_UNKNOWN = 0xFFFFFFFF
"""The largest size, which players of streams take for one that is not known yet."""


def encode(samples: NDArray[np.float32], sample_format: str = "float") -> bytes:
    """Returns samples as little-endian bytes.

    Args:
        samples: float32 ``[n]``, full scale is 1.
        sample_format: ``float`` keeps the samples as they are; ``pcm16`` clips them to full scale and
            rounds to 16 bits.
    """
    if sample_format == "pcm16":
        rounded: NDArray[np.float32] = np.rint(np.clip(samples, -1.0, 1.0) * 32767.0)
        return rounded.astype("<i2").tobytes()
    if sample_format == "float":
        return samples.astype("<f4").tobytes()
    raise ValueError(f"expected one of {', '.join(FORMATS)}, found {sample_format!r}")


def wav_header(sample_rate: int, sample_format: str, samples: int | None) -> bytes:
    """Returns the header of a mono WAV file.

    Args:
        sample_rate: in Hz.
        sample_format: as in `encode`.
        samples: number of samples that follow; None if it is not known yet.
    """
    code, width = (_PCM, 2) if sample_format == "pcm16" else (_IEEE_FLOAT, 4)
    content = struct.pack("<HHIIHH", code, 1, sample_rate, sample_rate * width, width, 8 * width)
    count = _UNKNOWN if samples is None else samples
    if code == _IEEE_FLOAT:
        # Everything but PCM carries the size of an extension and the number of samples.
        content += struct.pack("<H", 0)
        fact = struct.pack("<4sII", b"fact", 4, count)
    else:
        fact = b""
    chunks = struct.pack("<4sI", b"fmt ", len(content)) + content + fact
    data_bytes = _UNKNOWN if samples is None else samples * width
    riff_bytes = _UNKNOWN if samples is None else 4 + len(chunks) + 8 + data_bytes
    return (
        struct.pack("<4sI4s", b"RIFF", riff_bytes, b"WAVE")
        + chunks
        + struct.pack("<4sI", b"data", data_bytes)
    )


def write_wav(
    path: Path, samples: NDArray[np.float32], sample_rate: int, sample_format: str = "float"
) -> None:
    """Writes a mono WAV file, whole or not at all; arguments and errors are those of `audio_file`."""
    with audio_file(path, sample_rate, sample_format) as file:
        file.write(samples)


class AudioFile:
    """A file or pipe that takes samples; `audio_file` opens it."""

    def __init__(self, output: Output, sample_format: str, most_bytes: int | None) -> None:
        """Takes where to write, the format as in `encode`, and how large the file may become."""
        self._output = output
        self._format = sample_format
        self._most_bytes = most_bytes
        self.samples = 0
        """Written so far."""

    def write(self, samples: NDArray[np.float32]) -> None:
        """Writes samples, float32 ``[n]``.

        Raises:
            OutputError: they cannot be written, or the file would become too large for its format.
        """
        data = encode(samples, self._format)
        size = self._output.bytes + len(data)
        if self._most_bytes is not None and size > self._most_bytes:
            raise OutputError(
                f"{self._output.name} would have {size} bytes and a WAV file holds {self._most_bytes}: "
                "write raw samples, 16 bits a sample, or several files."
            )
        self._output.write(data)
        self.samples += len(samples)


@contextmanager
def audio_file(
    path: Path | None, sample_rate: int, sample_format: str = "float", *, raw: bool = False
) -> Iterator[AudioFile]:
    """Opens a mono WAV file that is written as its samples come.

    A file appears whole or not at all; a pipe takes all at once, under a header that leaves the length open.

    Args:
        path: a file, a pipe or a device; None is standard output.
        sample_rate: in Hz.
        sample_format: as in `encode`.
        raw: write the samples alone, without a header.

    Raises:
        OutputError: it cannot be written; `DiskFullError` if there is no room.
    """
    with Output(path) as output:
        sized = output.staged and not raw
        file = AudioFile(output, sample_format, _UNKNOWN if sized else None)
        if not raw:
            output.write(wav_header(sample_rate, sample_format, None))
        yield file
        if sized:
            output.rewrite_start(wav_header(sample_rate, sample_format, file.samples))
