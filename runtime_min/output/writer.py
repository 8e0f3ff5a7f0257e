"""Output of a command: a file that appears whole or not at all, or a pipe that takes all at once."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, TextIO, runtime_checkable

from ..errors import ArgumentTypeError, ClosedPipeError, DiskFullError, OutputError
from ..format.file_content import long_path

_STANDARD_OUTPUT = 1


class Output:
    """A context in which bytes are written to a file, a device or standard output.

    A regular file is written beside its place and renamed into it where the context ends without an error,
    so that no half one is ever seen and an earlier one stays until then. Every error of the system is an
    `OutputError`.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        """Takes a path, or None for standard output."""
        self._target = None if path is None else as_path(path)
        self.name = "standard output" if path is None else str(path)
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

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to a place in a staged file, where `write` goes on, and returns its offset.

        Raises:
            OutputError: the system refuses it.
        """
        with self._reported(0):
            return self._file.seek(offset, whence)

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
                self._close()
                if self._staging is not None and self._target is not None and kind is None:
                    self._staging.replace(self._target)
        finally:
            self._remove_staging()

    def _close(self) -> None:
        self._file.close()

    def _remove_staging(self) -> None:
        if self._staging is not None:
            # Where a folder takes no files, or the system no names of this kind, it may refuse this too.
            with suppress(OSError, ValueError):
                self._staging.unlink(missing_ok=True)

    def _open(self) -> None:
        # Unbuffered: a buffer would try to write its rest once more after a pipe has broken.
        if self._target is None:
            opened(sys.stdout)
            self._file = io.FileIO(_STANDARD_OUTPUT, "wb", closefd=False)
        elif self._target.exists() and not self._target.is_file():
            # A pipe or device takes the data itself; a directory raises here.
            self._file = self._target.open("wb", buffering=0)
        else:
            # Through a link, as an ordinary write would go.
            self._target = Path(long_path(os.path.realpath(self._target)))
            _remove_abandoned(self._target.parent)
            staging = self._open_staging(self._target.parent)
            if self._target.exists():
                staging.chmod(stat.S_IMODE(self._target.stat().st_mode))

    def _open_staging(self, folder: Path) -> Path:
        while True:
            # A name of its own: with one as long as the target's, some would be too long.
            self._staging = staging = folder / f".{os.urandom(8).hex()}.part"
            self._file = staging.open("xb", buffering=0)
            _lock(self._file.fileno())
            if os.path.lexists(staging):
                return staging
            # Another process took it for abandoned before the lock.
            self._file.close()

    @contextmanager
    def _reported(self, needed: int) -> Iterator[None]:
        with reported(self.name):
            try:
                yield
            except OSError as failure:
                if self._staging is not None and failure.errno in (errno.ENOSPC, errno.EDQUOT):
                    import shutil  # here alone, so that no other command waits for it

                    free = shutil.disk_usage(self._staging.parent).free
                    raise DiskFullError(self.name, self.bytes + needed, free) from None
                raise


def _remove_abandoned(folder: Path) -> None:
    """Removes the parts of files that processes left in a folder when they were killed."""
    for part in folder.glob(f".{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):
            if os.name == "nt":
                # Refused while a process has it open.
                part.unlink()
            else:
                with part.open("ab") as file:
                    if _lock(file.fileno()):
                        part.unlink()


def _lock(descriptor: int) -> bool:
    """Locks an open file until it is closed; returns False if another process has locked it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


class Memory(Output):
    """An output whose bytes are kept in memory."""

    def __init__(self) -> None:
        """Makes an empty one."""
        super().__init__(None)
        self.name = "the audio"
        self._content = io.BytesIO()

    @property
    def staged(self) -> bool:
        """True: its beginning can be changed."""
        return True

    @property
    def content(self) -> bytes:
        """All that was written."""
        return self._content.getvalue()

    def _open(self) -> None:
        self._file = self._content

    def _close(self) -> None:
        """Keeps the bytes."""


@runtime_checkable
class Writable(Protocol):
    """An object that takes bytes, such as an open file."""

    def write(self, data: bytes, /) -> object:
        """Takes bytes; returns how many, or None for all."""


def write_to(file: Writable, data: bytes) -> None:
    """Writes bytes to an object of the caller's, which stays open.

    Raises:
        OutputError: the system refuses it, or it is closed.
        ArgumentTypeError: it takes text.
    """
    name = getattr(file, "name", type(file).__name__)
    with reported(str(name)):
        while data:
            try:
                written = file.write(data)
            except TypeError:
                raise ArgumentTypeError("file", "a path, or an object that takes bytes", file) from None
            # A raw file may take a part.
            data = data[written:] if isinstance(written, int) else b""


@contextmanager
def reported(name: str) -> Iterator[None]:
    """Turns the system's errors of writing to `name` into `OutputError`."""
    try:
        yield
    except BrokenPipeError:
        raise ClosedPipeError(name) from None
    except (OSError, ValueError) as failure:
        # A path with a zero byte is a ValueError.
        reason = getattr(failure, "strerror", None) or failure
        raise OutputError(
            f"{name} cannot be written: {reason}. Check the path and the permissions, or name another file."
        ) from None


def opened(stream: TextIO | None) -> TextIO:
    """Returns standard output.

    Raises:
        OutputError: it is None, because it was closed before this process began.
    """
    if stream is None:
        raise OutputError("Standard output is closed: connect it to a file or a program.")
    return stream


def as_path(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Returns a path.

    Raises:
        ArgumentTypeError: `path` is something else.
    """
    try:
        return Path(path)
    except TypeError:
        raise ArgumentTypeError(argument, "a str or a path", path) from None


def write_file(path: Path, data: bytes) -> None:
    """Writes a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    with Output(path) as output:
        output.write(data)
