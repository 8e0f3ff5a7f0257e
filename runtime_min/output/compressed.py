"""Compressed formats of audio, encoded by libsndfile through the package soundfile, which an app may have."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InstallationError, OutputError
from ..threads import WorkerThread
from .formats import COMPRESSED
from .wav import encode
from .writer import Output

Result = TypeVar("Result")


class Encoder:
    """Compresses samples into a staged output.

    libsndfile writes by calling back, and its callbacks lose exceptions. So `_File` keeps those of the
    output, and all runs on a thread of its own, which Ctrl-C does not interrupt.
    """

    def __init__(self, output: Output, suffix: str, sample_rate: int) -> None:
        """Takes an open output, one of `formats.COMPRESSED`, and the rate in Hz.

        Raises:
            InstallationError: soundfile is missing or too old.
            OutputError: the format has no such rate, or the beginning cannot be written.
        """
        soundfile, (container, subtype) = find_soundfile(suffix), COMPRESSED[suffix]
        self._error: type[Exception] = soundfile.SoundFileError
        self._name = output.name
        self._file = _File(output)
        self._thread = WorkerThread()
        self._encoder: Any = self._call(
            lambda: soundfile.SoundFile(self._file, "w", sample_rate, 1, subtype, format=container)
        )

    def write(self, samples: NDArray[np.float32]) -> None:
        """Compresses samples, float32 ``[n]``, after rounding them to 16 bits.

        Raises:
            OutputError: they cannot be written.
        """
        data = np.frombuffer(encode(samples), "<i2")
        self._call(lambda: self._encoder.write(data))

    def close(self) -> None:
        """Writes the end of the file; to be called in any case.

        Raises:
            OutputError: it cannot be written.
        """
        try:
            self._call(lambda: self._encoder.close())
        finally:
            self._thread.stop()

    def _call(self, function: Callable[[], Result]) -> Result:
        try:
            result = self._thread.call(function)
        except self._error as error:
            raise self._file.failure or OutputError(f"{self._name} cannot be encoded: {error}") from None
        if self._file.failure:
            raise self._file.failure
        return result


class _File:
    """An output as soundfile writes it; keeps the first error."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.failure: OutputError | None = None

    def write(self, data: bytes) -> int:
        try:
            self._output.write(data)
            return len(data)
        except OutputError as error:
            self.failure = self.failure or error
            return 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        try:
            return self._output.seek(offset, whence)
        except OutputError as error:
            self.failure = self.failure or error
            return 0

    def tell(self) -> int:
        return self.seek(0, os.SEEK_CUR)


def find_soundfile(suffix: str) -> Any:
    """Returns the package soundfile.

    Raises:
        InstallationError: it is missing, or cannot encode the format.
    """
    try:
        import soundfile
    except (ImportError, OSError) as error:
        # OSError: without libsndfile.
        raise InstallationError(
            f"Writing {suffix} files needs the package soundfile ({error}): pip install soundfile"
        ) from None
    if not soundfile.check_format(*COMPRESSED[suffix]):
        raise InstallationError(
            f"libsndfile {soundfile.__libsndfile_version__} cannot write {suffix} files: "
            "pip install --upgrade soundfile"
        )
    return soundfile
