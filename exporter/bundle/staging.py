"""Writes a directory atomically: beside its place, flushed, then exchanged with what is there."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from runtime_min.errors import DiskFullError, OutputError
from runtime_min.format.manifest import MANIFEST_NAME

_HERE = -100
"""AT_FDCWD: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's renameat2."""


class NotABundleError(OutputError):
    """The destination exists and is not a bundle, so it must not be replaced."""


class BusyDestinationError(OutputError):
    """Another process is writing to the same place."""


def check_replaceable(destination: Path) -> None:
    """Checks that a bundle may be written at `destination`.

    Raises:
        NotABundleError: something other than a bundle or an empty directory is there.
    """
    if not os.path.lexists(destination) or (destination / MANIFEST_NAME).is_file():
        return
    if destination.is_dir() and not destination.is_symlink() and not any(destination.iterdir()):
        return
    raise NotABundleError(
        f"{destination} exists and is not a bundle (it has no {MANIFEST_NAME}): "
        "expected a new path or an earlier bundle. Choose another path, or remove it yourself."
    )


def check_destination(destination: Path) -> None:
    """Checks before long work that a bundle may be written at `destination`.

    Raises:
        NotABundleError: something other than a bundle or an empty directory is there.
        BusyDestinationError: another process is writing there.
    """
    check_replaceable(destination)
    if destination.parent.is_dir():
        with locked(destination):
            pass


@contextmanager
def staged(
    destination: Path, needed: int, check: Callable[[Path], None] = check_replaceable
) -> Iterator[Path]:
    """Yields a directory that takes the place of `destination` if the context ends without an error.

    Args:
        destination: the directory to create, or an earlier one to replace.
        needed: bytes that will be written.
        check: refuses a destination that must not be replaced.

    Raises:
        NotABundleError: something other than a bundle or an empty directory is there.
        BusyDestinationError: another process is writing there.
        DiskFullError: there is not enough room.
    """
    destination = Path(os.path.abspath(destination))
    check(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    staging = destination.with_name(f".{destination.name}.staging")
    with _disk_full_named(destination, needed), locked(destination):
        # A process that was killed may have left one, which takes room.
        _remove(staging)
        if needed > shutil.disk_usage(destination.parent).free:
            raise OSError(errno.ENOSPC, "too little room")
        staging.mkdir()
        try:
            yield staging
            _synchronise(staging)
            replace_directory(staging, destination)
        finally:
            _remove(staging)


@contextmanager
def locked(destination: Path) -> Iterator[None]:
    """Keeps all other processes from writing to `destination`; the system ends a dead process's lock.

    Raises:
        BusyDestinationError: another process is writing there.
    """
    lock = FileLock(destination.with_name(f".{destination.name}.lock"), blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise BusyDestinationError(
            f"Another process is writing {destination}: wait until it has ended, or choose another path."
        ) from None
    try:
        yield
    finally:
        # Windows deletes no open file; there an empty one stays.
        with suppress(PermissionError):
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


@contextmanager
def _disk_full_named(destination: Path, needed: int) -> Iterator[None]:
    """Turns the system's "no space left" into an error that names the path and the sizes."""
    try:
        yield
    except OSError as failure:
        if failure.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        free = shutil.disk_usage(destination.parent).free
        raise DiskFullError(destination, needed, free) from failure


def replace_directory(staging: Path, destination: Path) -> None:
    """Puts `staging` in the place of `destination`, in one step where the system can.

    The earlier directory may be left at `staging`. It comes back if the second of two renames fails.
    """
    if not os.path.lexists(destination):
        staging.rename(destination)
    elif not _exchange(staging, destination):
        earlier = staging.with_name(f".{destination.name}.earlier")
        _remove(earlier)
        destination.rename(earlier)
        try:
            staging.rename(destination)
        except BaseException:
            earlier.rename(destination)
            raise
        _remove(earlier)
    _flush(destination.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two names; returns False where the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(_HERE, bytes(one), _HERE, bytes(other), _EXCHANGE) == 0


def _synchronise(directory: Path) -> None:
    """Makes sure that the contents have reached the disk before a rename makes them visible."""
    for path in [*directory.rglob("*"), directory]:
        _flush(path)


def _flush(path: Path) -> None:
    """Writes what the system has buffered of a file or a directory to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no directories.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Removes a directory or whatever else has this name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
