"""Paths of any length, reading of open files in pieces, their digests, and mapping them into memory."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import mmap
import ntpath
import os
import stat
import threading
import weakref
from collections.abc import Iterator
from typing import Any

_READ = 1 << 20
_position = threading.Lock()
"""Windows reads a file at its own position alone."""
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EIO)
"""Errors that the system causes, and not the file."""
_LONG = 200
"""Characters of a path of Windows that leave room for the names of files in the directory."""
PIECE = 64 << 10
"""Bytes; the allocator returns memory of this size to the system at once."""


class Descriptor:
    """An open file or directory: closed with the last reference to it, so never while a thread reads it."""

    def __init__(self, number: int) -> None:
        """Takes the number of an open descriptor."""
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


def long_path(path: str | os.PathLike[str]) -> str:
    """Returns a path by which this system opens a file however long it is."""
    return extended_path(os.fspath(path)) if os.name == "nt" else os.fspath(path)


def extended_path(path: str) -> str:
    """Returns a path of Windows, a long one in the form that may have more than 259 characters."""
    # In the long form a slash is no separator.
    full = ntpath.abspath(path).replace("/", "\\")
    if full.startswith("\\\\?\\"):
        return full
    if len(full) < _LONG:
        return path
    # The server of a network follows two backslashes, of which UNC keeps one.
    return f"\\\\?\\UNC{full[1:]}" if full.startswith("\\\\") else f"\\\\?\\{full}"


def open_regular(path: str, flags: int) -> int:
    """Opens a regular file for `open`; links are followed, and pipes are not waited for.

    Raises:
        OSError: the file cannot be opened or is not regular.
    """
    handle = os.open(long_path(path), flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "a directory, pipe, socket or device; expected a regular file")
    return handle


def sha256_of_handle(handle: int, most: int, start: int = 0) -> str:
    """Returns the SHA-256 of an open file from `start` on, of at most `most` bytes, in hexadecimal.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    for piece in pieces(handle, most, _READ, start):
        digest.update(piece)
    return digest.hexdigest()


def pieces(handle: int, most: int, size: int = PIECE, start: int = 0) -> Iterator[bytes]:
    """Yields an open file from `start` on, at most `most` bytes, in pieces of `size`."""
    position, end = start, start + most
    while piece := _read_at(handle, position, min(size, end - position)):
        position += len(piece)
        yield piece


def _read_at(handle: int, position: int, count: int) -> bytes:
    """Reads without the file's own position, which threads and the children of a process share."""
    if hasattr(os, "pread"):
        return os.pread(handle, count, position)
    with _position:
        os.lseek(handle, position, os.SEEK_SET)
        return os.read(handle, count)


def map_privately(handle: int, size: int) -> Any:
    """Returns the first `size` bytes of an open file as memory, mapped copy-on-write, which is a buffer.

    Raises:
        OSError: the system has no room for it.
    """
    if not size:
        return bytearray()
    if os.name == "nt":
        return mmap.mmap(handle, size, access=mmap.ACCESS_COPY)
    # Python's mmap has a descriptor of its own, which Python 3.13 is the first to do without.
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    system.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    address = system.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, handle, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    memory = (ctypes.c_char * size).from_address(address)
    # Threads may still read it when the interpreter ends.
    weakref.finalize(memory, system.munmap, address, size).atexit = False
    return memory
