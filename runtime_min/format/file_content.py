"""Reading of open files in pieces, and their digests."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator

_BLOCK = 1 << 20
_PIECE = 64 << 10
"""Bytes; the allocator returns memory of this size to the system at once."""


def open_regular(path: str, flags: int) -> int:
    """Opens a regular file for `open`; links are followed, and pipes are not waited for.

    Raises:
        OSError: the file cannot be opened or is not regular.
    """
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "a directory, pipe, socket or device; expected a regular file")
    return handle


def sha256_of_handle(handle: int, most: int) -> str:
    """Returns the SHA-256 of an open file's first `most` bytes, in hexadecimal.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    for piece in pieces(handle, most, _BLOCK):
        digest.update(piece)
    return digest.hexdigest()


def pieces(handle: int, most: int, size: int = _PIECE) -> Iterator[bytes]:
    """Yields an open file's first `most` bytes in pieces of `size`."""
    position = 0
    while piece := _read_at(handle, position, min(size, most - position)):
        position += len(piece)
        yield piece


def _read_at(handle: int, position: int, count: int) -> bytes:
    """Reads without the file's own position, which threads and the children of a process share."""
    if hasattr(os, "pread"):
        return os.pread(handle, count, position)
    os.lseek(handle, position, os.SEEK_SET)
    return os.read(handle, count)
