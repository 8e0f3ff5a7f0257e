"""Writes a directory atomically: beside its place, flushed, then exchanged with the old directory."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from ..errors import (
    BundleError,
    BusyDestinationError,
    DiskFullError,
    NotABundleError,
    OutputError,
)
from ..format.bundle_files import BundleFiles
from ..format.file_content import long_path
from ..format.verify import manifest_of

_HERE = -100
"""AT_FDCWD: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's renameat2."""
_NAMED = 5
"""Files that a message names at most."""
LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""Names of files that systems put into any directory; nobody misses them."""


def check_replaceable(destination: Path) -> None:
    """Checks that a bundle may be written at `destination`.

    Raises:
        NotABundleError: something other than a whole bundle or an empty directory is there, or another file
            in the bundle's directory.
    """
    if is_free(destination):
        return
    try:
        if destination.is_symlink():
            raise BundleError("A bundle is not written through a link.")
        with BundleFiles(destination) as files:
            manifest_of(files)
            files.check_contents()
            files.check_nothing_else(LITTER)
    except BundleError as error:
        raise NotABundleError(
            f"{destination} exists and is not a whole bundle without other files: it is "
            f"{_described(destination)}. {error} "
            "To write here, choose another path, or remove what is there yourself."
        ) from None


def is_litter(path: Path) -> bool:
    """Returns True if a system left the file at `path`, so that nobody misses it."""
    return path.name in LITTER and path.is_file()


def is_free(destination: Path) -> bool:
    """Returns True if nothing is at `destination`, or a directory without a user's files."""
    if os.path.isdir(destination) and not destination.is_symlink():
        with write_errors(destination):
            return all(map(is_litter, destination.iterdir()))
    return not os.path.lexists(destination)


def _described(place: Path) -> str:
    """Describes the file or directory at a place."""
    if place.is_symlink():
        return f"a link to {os.readlink(place)!a}"
    if not place.is_dir():
        return "a file"
    names = [ascii(path.name) for path in islice(place.iterdir(), _NAMED + 1)]
    return f"a directory with {', '.join(sorted(names[:_NAMED]))}{' and more' * (len(names) > _NAMED)}"


def check_destination(destination: Path) -> bool:
    """Checks before long work that a bundle may be written at `destination`, and makes its parent directory.

    Returns:
        True if a bundle is there, which the new one will replace.

    Raises:
        NotABundleError: something other than a whole bundle or an empty directory is there.
        BusyDestinationError: another process is writing there.
        OutputError: nothing can be written there.
    """
    check_replaceable(destination)
    with locked(destination):
        return not is_free(destination)


@contextmanager
def staged(
    destination: Path, needed: int, check: Callable[[Path], object] = check_replaceable
) -> Iterator[Path]:
    """Yields a directory that takes the place of `destination` if the context ends without an error.

    Args:
        destination: the directory to create, or an earlier one to replace.
        needed: bytes that will be written.
        check: raises an error if the destination must not be replaced; called before and after the context.

    Raises:
        NotABundleError: something other than a whole bundle or an empty directory is there.
        BusyDestinationError: another process is writing there.
        DiskFullError: there is not enough room.
        OutputError: nothing can be written there.
    """
    destination = Path(long_path(os.path.abspath(destination)))
    check(destination)
    with locked(destination), replacing(destination, needed, check) as staging:
        yield staging


@contextmanager
def replacing(destination: Path, needed: int, check: Callable[[Path], object]) -> Iterator[Path]:
    """Does what `staged` does for a destination that is `locked`; calls `check` only after the context."""
    staging = destination.with_name(f".{destination.name}.staging")
    try:
        with write_errors(destination, needed):
            # A process that was killed may have left one, which takes room.
            _remove(staging)
            if needed > shutil.disk_usage(destination.parent).free:
                raise OSError(errno.ENOSPC, "too little room")
            staging.mkdir()
        yield staging
        with write_errors(destination, needed):
            _synchronise(staging)
            check(destination)
            replace_directory(staging, destination)
    finally:
        _remove(staging)


@contextmanager
def locked(destination: Path) -> Iterator[None]:
    """Keeps all other processes from writing to `destination`; the system ends a dead process's lock.

    Raises:
        BusyDestinationError: another process is writing there.
        OutputError: nothing can be written there.
    """
    lock = destination.with_name(f".{destination.name}.lock")
    with write_errors(destination):
        if "\0" in str(destination):
            raise OSError(errno.EINVAL, "a path has no zero byte")
        destination.parent.mkdir(parents=True, exist_ok=True)
        file = _locked_file(lock)
    if file is None:
        raise BusyDestinationError(
            f"Another process is writing {destination}: wait until it has ended, or choose another path."
        )
    with file:
        try:
            _restore(destination)
            yield
        finally:
            # Windows deletes no open file; there an empty one stays.
            with suppress(PermissionError):
                lock.unlink(missing_ok=True)


def _locked_file(path: Path) -> BinaryIO | None:
    """Returns a file that this process alone has locked until it closes it; None if another one has."""
    while True:
        file = path.open("ab")
        try:
            _lock(file.fileno())
            # Its last owner may have removed it after it was opened here.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except (BlockingIOError, PermissionError):
            file.close()
            return None
        file.close()


def _lock(descriptor: int) -> None:
    """Locks an open file, where the system has locks.

    Raises:
        OSError: another process has locked it.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        with suppress(ModuleNotFoundError):
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def write_errors(destination: Path, needed: int = 0) -> Iterator[None]:
    """Raises the system's errors as one that names the destination, and on a full disk the sizes.

    Raises:
        DiskFullError: there is not enough room.
        OutputError: another error of the system.
    """
    try:
        yield
    except OSError as failure:
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(destination, needed, shutil.disk_usage(destination.parent).free) from failure
        raise OutputError(
            f"{destination} cannot be written: {failure.strerror or failure}. What was there is unchanged. "
            "Check the path and the permissions, or name another directory."
        ) from failure


def replace_directory(staging: Path, destination: Path) -> None:
    """Puts `staging` in the place of `destination`, in one step where the system can.

    The earlier directory may be left at `staging`. It comes back if the second of two renames fails.
    """
    if not os.path.lexists(destination):
        staging.rename(destination)
    elif not _exchange(staging, destination):
        earlier = _earlier(destination)
        _remove(earlier)
        destination.rename(earlier)
        try:
            staging.rename(destination)
        except BaseException:
            earlier.rename(destination)
            raise
        _remove(earlier)
    _flush(destination.parent)


def _earlier(destination: Path) -> Path:
    return destination.with_name(f".{destination.name}.earlier")


def _restore(destination: Path) -> None:
    """Brings back a directory that a process had moved away when it was killed between two renames."""
    if not os.path.lexists(destination) and (earlier := _earlier(destination)).is_dir():
        earlier.rename(destination)


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
    """Flushes a file or a directory to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no directories.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Removes a directory or a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
