"""Files of audio, written as their samples come: WAV here, other formats by libsndfile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import numpy as np
from numpy.typing import NDArray

from ..errors import OutputError, UsageError
from .compressed import Encoder
from .formats import COMPRESSED, FORMATS, SAMPLES, audio_format
from .wav import LARGEST, check_format, check_rate, encode, wav_header
from .writer import Memory, Output, as_path


class AudioFile:
    """A file or pipe that takes samples; `audio_file` opens it."""

    def __init__(self, write: Callable[[NDArray[np.float32]], None]) -> None:
        """Takes a function that writes samples."""
        self._write = write
        self.samples = 0
        """Written so far."""

    def write(self, samples: NDArray[np.float32]) -> None:
        """Writes samples, float32 ``[n]``.

        Raises:
            OutputError: they cannot be written, or the file would become too large for its format.
            UsageError: they are something else.
        """
        self._write(samples)
        self.samples += len(samples)


@contextmanager
def audio_file(
    path: str | os.PathLike[str] | None,
    sample_rate: int,
    sample_format: str = "pcm16",
    *,
    raw: bool = False,
) -> Iterator[AudioFile]:
    """Opens a mono audio file that is written as its samples come.

    A file appears whole or not at all; a pipe takes all at once, under a header that leaves the length open.

    Args:
        path: a file whose name ends with one of `formats.AUDIO`, for the format; a pipe or a device, for a
            WAV file; None is standard output.
        sample_rate: in Hz.
        sample_format: as in `encode`; other formats than WAV have their own, and take ``pcm16`` alone.
        raw: write the samples alone, without a header, whatever the name.

    Raises:
        OutputError: it cannot be written; `DiskFullError` if there is no room.
        UsageError: the name's end names no format, or an argument is wrong.
        InstallationError: a package that the format needs is missing.
    """
    suffix = ".wav" if path is None else audio_format(as_path(path), sample_format, raw=raw)
    with Output(path) as output, _written(output, suffix, sample_rate, sample_format, raw) as file:
        yield file


@contextmanager
def _written(
    output: Output, suffix: str, sample_rate: int, sample_format: str, raw: bool = False
) -> Iterator[AudioFile]:
    if suffix in COMPRESSED:
        with closing(Encoder(output, suffix, check_rate(sample_rate))) as encoder:
            yield AudioFile(encoder.write)
    else:
        with _wav(output, sample_rate, check_format(sample_format), raw) as file:
            yield file


@contextmanager
def _wav(output: Output, sample_rate: int, sample_format: str, raw: bool) -> Iterator[AudioFile]:
    sized = output.staged and not raw

    def write(samples: NDArray[np.float32]) -> None:
        data = encode(samples, sample_format)
        size = output.bytes + len(data)
        if sized and size > LARGEST:
            raise OutputError(
                f"{output.name} would have {size} bytes and a WAV file holds {LARGEST}: write raw samples, "
                "a FLAC file, or several files."
            )
        output.write(data)

    file = AudioFile(write)
    if not raw:
        output.write(wav_header(sample_rate, sample_format, None))
    yield file
    if sized:
        output.seek(0)
        output.write(wav_header(sample_rate, sample_format, file.samples))


def write_wav(
    path: str | os.PathLike[str], samples: NDArray[np.float32], sample_rate: int, sample_format: str = "pcm16"
) -> None:
    """Writes mono samples to a file, whole or not at all; arguments and errors are those of `audio_file`."""
    with audio_file(path, sample_rate, sample_format) as file:
        file.write(samples)


def audio_bytes(
    samples: NDArray[np.float32], sample_rate: int, format: str, sample_format: str = "pcm16"
) -> bytes:
    """Returns the content of a file with mono samples.

    Args:
        samples: float32 ``[n]``, full scale is 1.
        sample_rate: in Hz.
        format: one of `formats.FORMATS`.
        sample_format: as in `audio_file`.

    Raises:
        UsageError: there is no such format, or an argument is wrong.
        OutputError: the format has no such rate.
        InstallationError: a package that the format needs is missing.
    """
    if not isinstance(format, str) or format not in FORMATS:
        raise UsageError(f"The format must be one of {', '.join(FORMATS)}, found {format!r}.")
    suffix = f".{format}"
    if suffix in COMPRESSED and check_format(sample_format) != SAMPLES[0]:
        raise UsageError(f"Only WAV holds {sample_format} samples: leave them out for {format}.")
    memory = Memory()
    with memory, _written(memory, suffix, sample_rate, sample_format) as file:
        file.write(samples)
    return memory.content
