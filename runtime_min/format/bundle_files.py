"""A bundle's directory and files: each is opened once, and what was hashed is what is loaded.

The directory is opened first, and everything else relative to it, so a link that led to it may change
meanwhile. Libraries and voices are read through the descriptor that was checked, and compared with their
digests as they are read. Parameters are too large for that and stay mapped: `check_unchanged` notices if
somebody has written to the file since it was opened.

If the system lacks descriptors, memory or threads, or its disk fails, that is a `ResourceError`, not an error
of the bundle. After `close` files cannot be opened any more (`ClosedBundleError`).
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
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import (
    ChangedFileError,
    ClosedBundleError,
    DamagedFileError,
    KokoroError,
    LinkedFileError,
    MissingFileError,
    NotRegularFileError,
    ResourceError,
    UnexpectedFileError,
    UnreadableFileError,
)
from .file_content import pieces, sha256_of_handle
from .manifest import MANIFEST_NAME, FileEntry

_NAMED = 5
"""Files that a message names at most."""
_ADVICE = "copy or export the bundle again"
_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EIO)
"""Errors of which the bundle is not the cause."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
"""Errors of which a name that nothing has is the cause."""
# Windows has none of these flags. Opening a pipe must not wait for its writer.
_FILE = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)
_RELATIVE = os.open in os.supports_dir_fd
"""Windows opens no directories."""
_DIRECTORY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_DIRECTORY"))


class _Descriptor:
    """An open file or directory: closed with the last reference to it, so never while a thread reads it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class _Opened(NamedTuple):
    """A file that stays open."""

    descriptor: _Descriptor
    state: tuple[int, int]
    """Size and time of the last change when its content was compared."""


class BundleFiles:
    """The files of one bundle."""

    def __init__(self, directory: Path) -> None:
        """Opens the directory; a link to it is followed, this once.

        Raises:
            MissingFileError: there is no such directory.
            UnreadableFileError: the system does not let it be read.
        """
        self.directory = directory
        self._entries: dict[str, FileEntry] = {}
        self._opened: dict[str, _Opened] = {}
        self._mapped: list[str] = []
        self._lock = threading.Lock()
        self._closed = False
        self._root: _Descriptor | None = None
        """The directory, where the system opens such."""
        try:
            with self._typed(""):
                if _RELATIVE:
                    self._root = _Descriptor(os.open(directory, _DIRECTORY))
                elif not os.path.isdir(directory):
                    raise NotADirectoryError(errno.ENOTDIR, "Not a directory")
        except (MissingFileError, LinkedFileError, ValueError):
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
        with self._typed(MANIFEST_NAME):
            return b"".join(pieces(opened.descriptor.number, most))

    def expect(self, entries: Collection[FileEntry]) -> None:
        """Takes the manifest's list of files, which all that follows goes by."""
        self._entries = {entry.path: entry for entry in entries}

    def verify(self, keep: Collection[str] = ()) -> None:
        """Checks that the directory holds the manifest, the listed files to the last bit, and nothing else.

        Args:
            keep: paths of files that stay open, to be loaded later.

        Raises:
            BundleError: something is missing, unexpected or differs.
            ResourceError: no thread can be started.
        """
        self.check_contents()
        # Largest first, so that the threads end together; hashlib releases the interpreter's lock.
        ordered = sorted(self._entries.values(), key=lambda entry: -entry.bytes)
        try:
            with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
                for _ in pool.map(lambda entry: self._check_digest(entry, entry.path in keep), ordered):
                    pass
        except RuntimeError as failure:
            raise ResourceError(f"Verifying {self.directory}", failure) from failure

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
        entry, descriptor = self._entries[path], self._kept(path).descriptor
        digest = hashlib.sha256()
        with self._typed(path):
            # One byte more than there should be shows that it grew.
            for piece in pieces(descriptor.number, entry.bytes + 1):
                digest.update(piece)
                yield piece
        self._compare(entry, digest.hexdigest())

    def map(self, path: str) -> mmap.mmap:
        """Maps a whole file copy-on-write.

        Raises:
            BundleError: the file is missing, no regular file, or of another size.
        """
        entry, descriptor = self._entries[path], self._kept(path).descriptor
        with self._typed(path):
            self._check_size(entry, os.fstat(descriptor.number).st_size)
            self._mapped.append(path)
            return mmap.mmap(descriptor.number, entry.bytes, access=mmap.ACCESS_COPY)

    def check_unchanged(self) -> None:
        """Makes sure that nobody has written to a mapped file since it was opened.

        Touching a page that a file no longer has would end the process. That it lost its name does not
        matter: a bundle that was replaced lives on until it is closed. If its time alone has changed, its
        content is compared again.

        Raises:
            ChangedFileError: somebody has.
        """
        for path in self._mapped:
            entry, opened = self._entries[path], self._kept(path)
            # Before the content: what is written while that is read is noticed next time.
            state = _state(os.fstat(opened.descriptor.number))
            if state == opened.state:
                continue
            if state[0] != entry.bytes or self._digest(entry, opened) != entry.sha256:
                raise ChangedFileError(
                    f"{self.directory / path} was written to while the bundle was open: expected the file "
                    "that was checked. Load the bundle again, and replace bundles by renaming directories."
                )
            self._opened[path] = opened._replace(state=state)

    def replaced(self) -> bool:
        """Returns True if the path leads to another directory than when this one was opened."""
        root = self._root
        try:
            return root is not None and not os.path.samestat(os.stat(self.directory), os.fstat(root.number))
        except OSError:
            return False

    def close(self) -> None:
        """Closes all that is still open, what is being read when that was read."""
        with self._lock:
            self._closed = True
            self._opened.clear()
            self._mapped.clear()
            self._root = None

    def __enter__(self) -> BundleFiles:
        return self

    def __exit__(self, *exception: object) -> None:
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
        for name, status in self._list(prefix):
            path = prefix + name
            if stat.S_ISDIR(status.st_mode) and path in parents:
                yield from self._walk(path + "/", parents)
            elif stat.S_ISDIR(status.st_mode):
                yield path + "/", 0
            else:
                self._check_kind(path, status)
                yield path, status.st_size

    def _list(self, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yields name and status of everything in a directory."""
        opened = self._open(prefix or ".", _DIRECTORY | getattr(os, "O_NOFOLLOW", 0)) if _RELATIVE else None
        with (
            self._typed(prefix),
            os.scandir(opened.number if opened else self.directory / prefix) as entries,
        ):
            for entry in entries:
                yield entry.name, entry.stat(follow_symlinks=False)

    def _check_kind(self, path: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            raise self._link(path)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegularFileError(
                f"{self._place(path)} is a pipe, socket, device or directory; expected a regular file: "
                f"{_ADVICE}."
            )
        # A directory's number is another; a file that was removed meanwhile has none.
        if status.st_nlink > 1:
            raise LinkedFileError(
                f"{self._place(path)} has {status.st_nlink} names (hard links), and who has another "
                "one may write to it; expected one: copy the bundle (cp -r), and install without links."
            )

    def _link(self, path: str) -> LinkedFileError:
        return LinkedFileError(
            f"{self._place(path)} is a symbolic link; expected a regular file: copy what it leads to."
        )

    def _place(self, path: str) -> Path:
        """Returns a path for messages, without what a terminal takes for a command."""
        return self.directory / (path if path.isprintable() else ascii(path))

    def _check_digest(self, entry: FileEntry, keep: bool) -> None:
        opened = self._open_regular(entry.path)
        self._compare(entry, self._digest(entry, opened))
        if keep:
            with self._lock:
                self._opened[entry.path] = opened

    def _digest(self, entry: FileEntry, opened: _Opened) -> str:
        with self._typed(entry.path):
            return sha256_of_handle(opened.descriptor.number, entry.bytes + 1)

    def _kept(self, path: str) -> _Opened:
        """Returns a file that stays open until the bundle is closed."""
        with self._lock:
            if path not in self._opened:
                self._opened[path] = self._open_regular(path)
            return self._opened[path]

    def _open_regular(self, path: str) -> _Opened:
        descriptor = self._open(path, _FILE)
        with self._typed(path):
            status = os.fstat(descriptor.number)
        self._check_kind(path, status)
        return _Opened(descriptor, _state(status))

    def _open(self, path: str, flags: int) -> _Descriptor:
        root = self._root
        if self._closed:
            raise ClosedBundleError
        with self._typed(path):
            if root is None:
                return _Descriptor(os.open(self.directory / path, flags))
            return _Descriptor(os.open(path, flags, dir_fd=root.number))

    @contextmanager
    def _typed(self, path: str) -> Iterator[None]:
        """Raises errors of the system as what they mean for the file or directory `path`."""
        try:
            yield
        except OSError as failure:
            raise self._meaning(path, failure) from None

    def _meaning(self, path: str, failure: OSError) -> KokoroError:
        place = self.directory / path
        if failure.errno in _SHORTAGES:
            return ResourceError(f"Reading {place}", failure.strerror)
        # O_NOFOLLOW's error for a link.
        if failure.errno == errno.ELOOP:
            return self._link(path)
        # A socket cannot be opened at all.
        if failure.errno == errno.ENXIO:
            return NotRegularFileError(f"{place} is a socket or device; expected a regular file: {_ADVICE}.")
        if failure.errno not in _ABSENT:
            return UnreadableFileError(
                f"{place} cannot be read ({failure.strerror}): correct that, or {_ADVICE}."
            )
        if path == MANIFEST_NAME:
            return MissingFileError(f"There is no {place}: {self.directory} is not a bundle.")
        return MissingFileError(f"The bundle {self.directory} lacks {path}: {_ADVICE}.")

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


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
