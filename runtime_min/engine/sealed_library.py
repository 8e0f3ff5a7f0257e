"""Loading libraries from bytes that were checked, rather than from a file that may have changed since."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path

from ..errors import ForbiddenCodeError, ResourceError

_DESCRIPTORS = "/proc/self/fd/"
_PREFIX = "kokoro-library-"
_DAY = 86_400.0
_FORBIDDEN = ("Operation not permitted", "Permission denied", "Access is denied", "policy")
"""Parts of the loaders' messages about a library that may not be executed."""
_NOT_MAPPED = "failed to map segment"
"""Part of glibc's message about that, and about too little memory."""
_SEALINGS = 30
"""Attempts to make a file in memory read-only, each of up to 0.16 s."""


@contextmanager
def library_file(path: str, content: Iterable[bytes], *, kept: bool = False) -> Iterator[str]:
    """Yields a path under which the system's loader finds `content`, within the context.

    On Linux that is a file in memory that can no longer be written to, elsewhere (or where the system
    forbids such files) a private temporary copy.

    Args:
        path: shown in /proc/self/maps and in debuggers.
        content: a shared library in pieces; raises after the last one if they are not what they should be.
        kept: a copy stays until the process ends, under its own name beside the other copies that stay:
            libraries of macOS find each other by their paths.

    Raises:
        ResourceError: there is no room for it.
        ForbiddenCodeError: loading it failed in the context, because of the place of the copy.
    """
    handle = _memory(path)
    if handle is None:
        with nullcontext(_kept_directory().name) if kept else _private_directory() as directory:
            copy = Path(directory, Path(path).name)
            # An earlier attempt to load it may have left a copy.
            copy.unlink(missing_ok=True)
            with _shortage_named(path), copy.open("xb") as file:
                file.writelines(content)
            try:
                yield str(copy)
            except Exception as failure:
                reason = str(failure).strip().rpartition("\n")[2]
                if _is_forbidden(directory, reason):
                    raise ForbiddenCodeError(tempfile.gettempdir(), reason) from failure
                raise
        return
    try:
        with _shortage_named(path):
            with os.fdopen(handle, "wb", closefd=False) as file:
                file.writelines(content)
            _seal(handle)
        yield f"{_DESCRIPTORS}{_spelling(os.fstat(handle).st_ino)}{handle}"
    finally:
        os.close(handle)


def _is_forbidden(directory: str, reason: str) -> bool:
    """Returns True if a library was not loaded because the system runs no code from the directory."""
    if _NOT_MAPPED in reason:
        return bool(os.statvfs(directory).f_flag & os.ST_NOEXEC)
    return any(sign in reason for sign in _FORBIDDEN)


@contextmanager
def _shortage_named(path: str) -> Iterator[None]:
    """Turns an error of the system while a library is written into one that names the library."""
    try:
        yield
    except OSError as failure:
        raise ResourceError(f"Copying {path} for the system's loader", failure) from failure


def _private_directory() -> tempfile.TemporaryDirectory[str]:
    if os.name == "nt":
        remove_forgotten(Path(tempfile.gettempdir()), time.time())
    return tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)


def remove_forgotten(directory: Path, now: float) -> None:
    """Removes copies older than a day: Windows lets no process remove the libraries that it has loaded.

    Args:
        directory: directory of temporary files.
        now: the present time, in seconds since the epoch.
    """
    for place in directory.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if now - place.stat().st_mtime > _DAY:
                # A copy that another process has loaded stays.
                shutil.rmtree(place, ignore_errors=True)


@cache
def _kept_directory() -> tempfile.TemporaryDirectory[str]:
    """Returns the directory of the copies that stay; it is removed when the interpreter ends."""
    return _private_directory()


def _memory(path: str) -> int | None:
    """Returns a descriptor of an empty file in memory; None where the system has or allows none."""
    try:
        handle = os.memfd_create(path, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (AttributeError, OSError):
        return None
    # Without /proc no path leads to it.
    if os.path.exists(f"{_DESCRIPTORS}{handle}"):
        return handle
    os.close(handle)
    return None


def _seal(handle: int) -> None:
    """Makes a file in memory read-only for everybody."""
    import fcntl

    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    for attempt in range(1, _SEALINGS + 1):
        try:
            fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
            return
        except OSError as failure:
            # Linux itself holds pages while it looks for memory to free, and refuses if that takes long.
            if failure.errno != errno.EBUSY or attempt == _SEALINGS:
                raise


def _spelling(number: int) -> str:
    """Returns a prefix for every number; no prefix changes the meaning of a path.

    The loader takes a path that it has loaded before for the same library, whoever loaded it, and descriptors
    are reused. So each path is spelled by the inode of its file.
    """
    return "".join("./" if bit == "1" else "/" for bit in f"{number:b}"[::-1])
