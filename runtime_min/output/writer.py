"""Output of a command: a file that appears whole or not at all, or a pipe that takes all at once."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import ClosedPipeError, DiskFullError, OutputError

_STANDARD_OUTPUT = 1


class Output:
    """A context in which bytes are written to a file, a device or standard output.

    A regular file is written beside its place and renamed into it where the context ends without an error,
    so that no half one is ever seen and an earlier one stays until then. Every error of the system is an
    `OutputError`.
    """

    def __init__(self, path: Path | None) -> None:
        """Takes a path, or None for standard output."""
        self.name = "standard output" if path is None else str(path)
        self._target = path
        self._staging: Path | None = None
        self._file: BinaryIO
        self.bytes = 0
        """Written so far."""

    @property
    def staged(self) -> bool:
        """True for a regular file, whose beginning can still be changed."""
        return self._staging is not None

    def write(self, data: bytes) -> None:
        """Writes all of `data` at once, past every buffer.

        Raises:
            OutputError: it cannot be written; `ClosedPipeError` if nobody reads any more, `DiskFullError` if
                there is no room.
        """
        with self._reported(len(data)):
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        self.bytes += len(data)

    def rewrite_start(self, data: bytes) -> None:
        """Writes `data` over the first bytes of a staged file.

        Raises:
            OutputError: it cannot be written.
        """
        with self._reported(0):
            self._file.seek(0)
            self._file.write(data)

    def synchronise(self) -> None:
        """Makes sure that a staged file has reached the disk.

        Raises:
            OutputError: it has not.
        """
        if self.staged:
            with self._reported(0):
                os.fsync(self._file.fileno())

    def __enter__(self) -> Output:
        try:
            with self._reported(0):
                self._open()
            return self
        except BaseException:
            # Ctrl-C may come when the file is there.
            self._remove_staging()
            raise

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            with self._reported(0):
                self._file.close()
                if self._staging is not None and self._target is not None and kind is None:
                    self._staging.replace(self._target)
        finally:
            self._remove_staging()

    def _remove_staging(self) -> None:
        if self._staging is not None:
            self._staging.unlink(missing_ok=True)

    def _open(self) -> None:
        # Unbuffered: a buffer would try to write its rest once more after a pipe has broken.
        if self._target is None:
            self._file = io.FileIO(_STANDARD_OUTPUT, "wb", closefd=False)
        elif self._target.exists() and not self._target.is_file():
            # A pipe or device takes the data itself; a directory raises here.
            self._file = self._target.open("wb", buffering=0)
        else:
            # Through a link, as an ordinary write would go.
            self._target = Path(os.path.realpath(self._target))
            self._staging = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}.part")
            self._file = self._staging.open("xb", buffering=0)

    @contextmanager
    def _reported(self, needed: int) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise ClosedPipeError(self.name) from None
        except OSError as failure:
            if failure.errno in (errno.ENOSPC, errno.EDQUOT) and self._target is not None:
                free = shutil.disk_usage(self._target.parent).free
                raise DiskFullError(self.name, self.bytes + needed, free) from None
            raise OutputError(
                f"{self.name} cannot be written: {failure.strerror}. Choose another place."
            ) from None


def write_file(path: Path, data: bytes) -> None:
    """Writes a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    with Output(path) as output:
        output.write(data)
