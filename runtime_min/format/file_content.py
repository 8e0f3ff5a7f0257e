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
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
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


class Parts:
    """An open file that may lie in several, one after another."""

    def __init__(self, files: Sequence[Descriptor]) -> None:
        """Takes at least one open file, in their order.

        Raises:
            OSError: the system does not say how large they are.
        """
        self._files = files
        self._ends = list(accumulate(os.fstat(each.number).st_size for each in files))

    def state(self) -> tuple[int, int]:
        """Returns the size of all, and the time of their last change.

        Raises:
            OSError: the system does not say.
        """
        found = [os.fstat(each.number) for each in self._files]
        return sum(each.st_size for each in found), max(each.st_mtime_ns for each in found)

    def read_at(self, position: int, count: int) -> bytes:
        """Returns at most `count` bytes from an offset on, none at the end.

        Raises:
            OSError: the file cannot be read.
        """
        number = min(bisect_right(self._ends, position), len(self._ends) - 1)
        start, end = ([0, *self._ends])[number : number + 2]
        if number < len(self._ends) - 1:
            count = min(count, end - position)
        return _read_at(self._files[number].number, position - start, count)

    def map(self, size: int) -> Any:
        """Returns the first `size` bytes as memory that is private to this process, which is a buffer.

        Pages of the files are shared with other processes until they are written to. Where a part does not
        begin with a page, and on Windows, the memory is a copy.

        Raises:
            OSError: the system has no room for it, or a file cannot be read.
        """
        if len(self._files) == 1:
            return map_privately(self._files[0].number, size)
        memory: Any = mmap.mmap(-1, size) if os.name == "nt" else _mapped(None, size, _ANONYMOUS)
        for file, start, end in zip(self._files, [0, *self._ends], self._ends, strict=False):
            length = min(end, size) - start
            if length <= 0:
                continue
            if os.name != "nt" and start % mmap.PAGESIZE == 0:
                _map_at(ctypes.addressof(memory) + start, length, _FIXED, file.number)
                continue
            view, position = memoryview(memory).cast("B"), start
            for piece in pieces(file.number, length):
                view[position : position + len(piece)] = piece
                position += len(piece)
        return memory


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


def sha256_of_handle(handle: int | Parts, most: int, start: int = 0) -> str:
    """Returns the SHA-256 of an open file from `start` on, of at most `most` bytes, in hexadecimal.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    for piece in pieces(handle, most, _READ, start):
        digest.update(piece)
    return digest.hexdigest()


def pieces(handle: int | Parts, most: int, size: int = PIECE, start: int = 0) -> Iterator[bytes]:
    """Yields an open file from `start` on, at most `most` bytes, in pieces of `size`."""
    position, end = start, start + most
    while piece := _read_at(handle, position, min(size, end - position)):
        position += len(piece)
        yield piece


def _read_at(handle: int | Parts, position: int, count: int) -> bytes:
    """Reads without the file's own position, which threads and the children of a process share."""
    if isinstance(handle, Parts):
        return handle.read_at(position, count)
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
    return _mapped(handle, size, mmap.MAP_PRIVATE)


_ANONYMOUS, _FIXED = (
    (mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MAP_PRIVATE | 0x10) if os.name != "nt" else (0, 0)
)
"""Flags for `mmap`; Python does not name that of a fixed address, which is the same on Linux and macOS."""


def _mapped(handle: int | None, size: int, flags: int) -> Any:
    """Returns memory that is unmapped with the last reference to it."""
    address = _map_at(None, size, flags, -1 if handle is None else handle)
    memory = (ctypes.c_char * size).from_address(address)
    # Threads may still read it when the interpreter ends.
    weakref.finalize(memory, _system().munmap, address, size).atexit = False
    return memory


def _map_at(address: int | None, size: int, flags: int, handle: int) -> int:
    """Maps memory, and returns its address."""
    writable = mmap.PROT_READ | mmap.PROT_WRITE
    found: int = _system().mmap(address, size, writable, flags, handle, 0)
    if found == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def _system() -> Any:
    """Returns the system's C library."""
    # Python's mmap has a descriptor of its own, which Python 3.13 is the first to do without.
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    system.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return system
