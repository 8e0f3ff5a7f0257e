"""A bundle's directory and files: each is opened once, and what was hashed is what is loaded.

The directory is opened first, and everything else relative to it, so a link that led to it may change
meanwhile. Libraries and voices are read through the descriptor that was checked, and compared with their
digests as they are read. Parameters are too large for that and stay mapped: `check_unchanged` notices if
somebody has written to the file since it was opened.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import stat
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ..errors import (
    ChangedFileError,
    DamagedFileError,
    LinkedFileError,
    MissingFileError,
    NotRegularFileError,
    UnexpectedFileError,
    UnreadableFileError,
)
from .manifest import MANIFEST_NAME, FileEntry

_BLOCK = 1 << 20
_PIECE = 64 << 10
"""Bytes; the allocator returns memory of this size to the system at once."""
_NAMED = 5
"""Files that a message names at most."""
_ADVICE = "copy or export the bundle again"
# Windows has none of these flags. Opening a pipe must not wait for its writer.
_FILE = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)
_RELATIVE = os.open in os.supports_dir_fd
"""Windows opens no directories."""
_DIRECTORY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_DIRECTORY"))


class _Opened(NamedTuple):
    """A file that stays open."""

    handle: int
    state: tuple[int, int]
    """Size and time of the last change when it was opened."""


class BundleFiles:
    """The files of one bundle."""

    def __init__(self, directory: Path) -> None:
        """Opens the directory; a link to it is followed, this once.

        Raises:
            MissingFileError: there is no such directory.
        """
        self.directory = directory
        self._entries: dict[str, FileEntry] = {}
        self._opened: dict[str, _Opened] = {}
        self._mapped: list[str] = []
        self._lock = threading.Lock()
        self._root: int | None = None
        """The directory's descriptor, where the system has such."""
        try:
            if _RELATIVE:
                self._root = os.open(directory, _DIRECTORY)
            elif not os.path.isdir(directory):
                raise FileNotFoundError
        except (OSError, ValueError):
            raise MissingFileError(
                f"{directory} is not a bundle: expected a directory with {MANIFEST_NAME}."
            ) from None

    def read_manifest(self, most: int) -> bytes:
        """Returns the manifest's first `most` bytes.

        Raises:
            MissingFileError: there is none.
            BundleError: it cannot be read, or is not a regular file with one name.
        """
        opened = self._open_regular(MANIFEST_NAME)
        try:
            return b"".join(_pieces(opened.handle, most))
        finally:
            os.close(opened.handle)

    def expect(self, entries: Collection[FileEntry]) -> None:
        """Takes the manifest's list of files, which all that follows goes by."""
        self._entries = {entry.path: entry for entry in entries}

    def verify(self, keep: Collection[str] = ()) -> None:
        """Checks that the directory holds the manifest, the listed files to the last bit, and nothing else.

        Args:
            keep: paths of files that stay open, to be loaded later.

        Raises:
            BundleError: something is missing, unexpected or differs.
        """
        self.check_contents()
        # Largest first, so that the threads end together; hashlib releases the interpreter's lock.
        ordered = sorted(self._entries.values(), key=lambda entry: -entry.bytes)
        with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
            for _ in pool.map(lambda entry: self._check_digest(entry, entry.path in keep), ordered):
                pass

    def read(self, path: str) -> bytes:
        """Returns a whole file; its digest is compared with that of what is returned.

        Raises:
            BundleError: the file is missing, no regular file, or differs.
        """
        return b"".join(self.blocks(path))

    def blocks(self, path: str) -> Iterator[bytes]:
        """Yields a whole file in pieces; after the last one their digest is compared.

        Raises:
            BundleError: the file is missing, no regular file, or differs.
        """
        entry, handle = self._entries[path], self._kept(path).handle
        digest = hashlib.sha256()
        # One byte more than there should be shows that it grew.
        for piece in _pieces(handle, entry.bytes + 1):
            digest.update(piece)
            yield piece
        self._compare(entry, digest.hexdigest())

    def map(self, path: str) -> mmap.mmap:
        """Maps a whole file copy-on-write.

        Raises:
            BundleError: the file is missing, no regular file, or of another size.
        """
        entry, opened = self._entries[path], self._kept(path)
        self._check_size(entry, os.fstat(opened.handle).st_size)
        self._mapped.append(path)
        return mmap.mmap(opened.handle, entry.bytes, access=mmap.ACCESS_COPY)

    def check_unchanged(self) -> None:
        """Makes sure that nobody has written to a mapped file since it was opened.

        Touching a page that a file no longer has would end the process. That it lost its name does not
        matter: a bundle that was replaced lives on until it is closed.

        Raises:
            ChangedFileError: somebody has.
        """
        for path in self._mapped:
            opened = self._kept(path)
            if _state(os.fstat(opened.handle)) != opened.state:
                raise ChangedFileError(
                    f"{self.directory / path} was written to while the bundle was open: expected the file "
                    "that was checked. Load the bundle again, and replace bundles by renaming directories."
                )

    def close(self) -> None:
        """Closes all that is still open."""
        with self._lock:
            handles = [opened.handle for opened in self._opened.values()]
            if self._root is not None:
                handles.append(self._root)
            self._opened.clear()
            self._mapped.clear()
            self._root = None
        for handle in handles:
            os.close(handle)

    def __enter__(self) -> BundleFiles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def check_contents(self) -> None:
        """Compares names, kinds and sizes, which costs nothing and names a cut-off copy at once.

        Raises:
            BundleError: something is missing, unexpected, a link or no file, or of another size.
        """
        expected = self._entries
        parents = {path[:end] for path in expected for end, letter in enumerate(path) if letter == "/"}
        found: dict[str, int] = {}
        extra: list[str] = []
        for path, size in self._walk("", parents):
            if path in expected:
                found[path] = size
            elif path != MANIFEST_NAME:
                extra.append(path)
                # There may be millions.
                if len(extra) == _NAMED:
                    break
        else:
            missing = sorted(expected.keys() - found.keys())[:_NAMED]
            if missing:
                raise MissingFileError(f"The bundle {self.directory} lacks {', '.join(missing)}: {_ADVICE}.")
        if extra:
            raise UnexpectedFileError(
                f"The bundle {self.directory} holds {', '.join(map(ascii, sorted(extra)))}, which its "
                f"manifest does not list: remove what does not belong there, or {_ADVICE}."
            )
        for path, entry in expected.items():
            self._check_size(entry, found[path])

    def _walk(self, prefix: str, parents: Collection[str]) -> Iterator[tuple[str, int]]:
        """Yields path and size of every file, and of a directory that leads to no listed file."""
        for entry in self._list(prefix):
            path = prefix + entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and path in parents:
                yield from self._walk(path + "/", parents)
            elif stat.S_ISDIR(status.st_mode):
                yield path + "/", 0
            else:
                self._check_kind(path, status)
                yield path, status.st_size

    def _list(self, prefix: str) -> Iterator[os.DirEntry[str]]:
        place: int | Path = self.directory / prefix
        if self._root is not None:
            flags = _DIRECTORY | getattr(os, "O_NOFOLLOW", 0)
            place = self._open(prefix or ".", flags)
        try:
            with os.scandir(place) as entries:
                yield from entries
        except OSError as failure:
            raise self._unreadable(prefix, failure) from None
        finally:
            if isinstance(place, int):
                os.close(place)

    def _check_kind(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            raise self._link(path)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegularFileError(
                f"{self.directory / path} is a pipe, socket, device or directory; expected a regular file: "
                f"{_ADVICE}."
            )
        # A directory's number is another; a file that was removed meanwhile has none.
        if status.st_nlink > 1:
            raise LinkedFileError(
                f"{self.directory / path} has {status.st_nlink} names (hard links), and who has another "
                "one may write to it; expected one: copy the bundle (cp -r), and install without links."
            )

    def _link(self, path: str) -> LinkedFileError:
        return LinkedFileError(
            f"{self.directory / path} is a symbolic link; expected a regular file: copy what it leads to."
        )

    def _check_digest(self, entry: FileEntry, keep: bool) -> None:
        opened = self._open_regular(entry.path)
        try:
            self._compare(entry, sha256_of_handle(opened.handle, entry.bytes + 1))
        except BaseException:
            os.close(opened.handle)
            raise
        if keep:
            with self._lock:
                self._opened[entry.path] = opened
        else:
            os.close(opened.handle)

    def _kept(self, path: str) -> _Opened:
        """Returns a file that stays open until the bundle is closed."""
        with self._lock:
            if path not in self._opened:
                self._opened[path] = self._open_regular(path)
            return self._opened[path]

    def _open_regular(self, path: str) -> _Opened:
        handle = self._open(path, _FILE)
        try:
            status = os.fstat(handle)
            self._check_kind(path, status)
        except BaseException:
            os.close(handle)
            raise
        return _Opened(handle, _state(status))

    def _open(self, path: str, flags: int) -> int:
        try:
            if self._root is None:
                return os.open(self.directory / path, flags)
            return os.open(path, flags, dir_fd=self._root)
        except FileNotFoundError:
            if path == MANIFEST_NAME:
                raise MissingFileError(
                    f"There is no {self.directory / path}: {self.directory} is not a bundle."
                ) from None
            raise MissingFileError(f"The bundle {self.directory} lacks {path}: {_ADVICE}.") from None
        except OSError as failure:
            # ELOOP is O_NOFOLLOW's error for a link; a socket cannot be opened at all.
            if failure.errno == errno.ELOOP:
                raise self._link(path) from None
            if failure.errno == errno.ENXIO:
                raise NotRegularFileError(
                    f"{self.directory / path} is a socket or device; expected a regular file: {_ADVICE}."
                ) from None
            raise self._unreadable(path, failure) from None

    def _unreadable(self, path: str, failure: OSError) -> UnreadableFileError:
        return UnreadableFileError(
            f"{self.directory / path} cannot be read ({failure.strerror}): correct that, or {_ADVICE}."
        )

    def _check_size(self, entry: FileEntry, found: int) -> None:
        if found != entry.bytes:
            raise DamagedFileError(
                f"{self.directory / entry.path} should have {entry.bytes} bytes and has {found}: {_ADVICE}."
            )

    def _compare(self, entry: FileEntry, digest: str) -> None:
        if digest != entry.sha256:
            raise DamagedFileError(
                f"{self.directory / entry.path} should have SHA-256 {entry.sha256}, has {digest}: {_ADVICE}."
            )


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
    for piece in _pieces(handle, most, _BLOCK):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(handle: int, most: int, size: int = _PIECE) -> Iterator[bytes]:
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


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
