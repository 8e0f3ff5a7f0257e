"""A bundle's directory and files: a file is used only if its content has the digest that the manifest lists.

Where a file lies, and by how many names and links, does not matter; nor does what else the directory holds,
because nothing else is opened. A file that is too large for a registry lies in parts, which are read as one.
While a bundle is loaded, everything is opened relative to its directory, so a link that led there may change
meanwhile. Libraries and voices are compared with their digests as they are
read, which for voices is later. Parameters are too large for that: their file is the one that stays open, and
`check_unchanged` notices if somebody has written to it.

If the system lacks descriptors, memory or threads, or its disk fails, that is a `ResourceError`, not an error
of the bundle. After `close` files cannot be opened any more (`ClosedBundleError`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import (
    ChangedFileError,
    ClosedBundleError,
    DamagedFileError,
    KokoroError,
    MissingFileError,
    NotRegularFileError,
    ResourceError,
    UnexpectedFileError,
    UnreadableFileError,
)
from ..threads import running
from .blocks import Block, Blocks, read_blocks
from .file_content import PIECE, SHORTAGES, Descriptor, Parts, long_path, pieces, sha256_of_handle
from .manifest import MANIFEST_NAME, FileEntry, Manifest

_NAMED = 5
"""Files that a message names at most."""
_ADVICE = "copy or export the bundle again"
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
"""Errors of the system for a path at which there is nothing."""
# No system has all of these flags. Opening a pipe must not wait for its writer.
_FILE = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
_RELATIVE = os.open in os.supports_dir_fd
"""Windows opens no directories."""
_DIRECTORY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_DIRECTORY"))


_MOST_PARTS = 99
_PART = re.compile(r"\.part[1-9]\d?$")


def part_names(path: str) -> Iterator[str]:
    """Yields the names under which a file may lie in parts, in their order."""
    yield from (f"{path}.part{number}" for number in range(1, _MOST_PARTS + 1))


class _Opened(NamedTuple):
    """A file that stays open."""

    content: Parts
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
        self._blocks = Blocks(1, {})
        self._opened: dict[str, _Opened] = {}
        self._held: dict[str, bytes] = {}
        self._mapped: dict[str, Any] = {}
        self._verified = False
        self._closed = False
        self._root: Descriptor | None = None
        """The open directory until it is released; None if the system opens no directories."""
        try:
            with self._typed(""):
                self._place = os.path.realpath(directory)
                """Leads to the directory even if a link to it changes."""
                if _RELATIVE:
                    self._root = Descriptor(os.open(directory, _DIRECTORY))
                elif not os.path.isdir(long_path(directory)):
                    raise NotADirectoryError(errno.ENOTDIR, "Not a directory")
        except (MissingFileError, ValueError):
            from .archive import is_archive

            found = ""
            if is_archive(directory):
                found = f' It is a packed bundle: first run kokoro-bundle unpack "{directory}" -o DIRECTORY.'
            raise MissingFileError(
                f"{directory} is not a bundle: expected a directory with {MANIFEST_NAME}.{found}"
            ) from None

    def read_manifest(self, most: int) -> bytes:
        """Returns the manifest's first `most` bytes.

        Raises:
            MissingFileError: there is none.
            BundleError: it cannot be read, or is not a regular file.
        """
        opened = self._open_regular(MANIFEST_NAME)
        with self._typed(MANIFEST_NAME):
            return b"".join(pieces(opened.content, most))

    def expect(self, manifest: Manifest) -> None:
        """Takes the manifest's list of files, which all later calls use."""
        self._entries = {entry.path: entry for entry in manifest.files}
        self._blocks = read_blocks(manifest.extensions, self._entries)

    def verify(self, threads: int = 1, keep: Collection[str] = ()) -> None:
        """Checks what `verifying` does, and returns at its end."""
        with self.verifying(threads, keep):
            pass

    @contextmanager
    def verifying(
        self, threads: int, keep: Collection[str] = (), hold: Collection[str] = ()
    ) -> Iterator[None]:
        """Checks until the end of the context that the directory holds the listed files to the last bit.

        Meanwhile `threads` threads compare files, and blocks of large files, with their digests.

        Args:
            threads: number of threads.
            keep: paths of files that stay open and mapped: what is compared is the memory that `map` returns.
            hold: paths of files whose content stays in memory until it is read.

        Raises:
            BundleError: something is missing or differs.
        """
        self.check_contents()
        self._mapped = {path: self.map(path) for path in keep}
        tasks: list[Callable[[], object]] = []
        for path, entry in self._entries.items():
            blocks = [partial(self._compare_block, entry, block) for block in self._blocks.of(entry)]
            tasks += [partial(self._hold, path)] if path in hold else blocks
        with running(tasks, threads):
            yield
        self._verified = True

    def read(self, path: str) -> bytes:
        """Returns a whole file; the digest of the returned bytes was compared.

        Raises:
            ChangedFileError: the file was verified before, and is missing or differs now.
            BundleError: the file is missing, no regular file, or differs.
        """
        if path in self._held:
            return self._held.pop(path)
        try:
            return b"".join(self.content(path, sys.maxsize))
        except (DamagedFileError, MissingFileError, NotRegularFileError) as failure:
            if self._verified:
                raise self._changed(path) from failure
            raise

    def content(self, path: str, size: int = PIECE) -> Iterator[bytes]:
        """Yields a whole file in pieces of `size`; after the last one their digest is compared.

        Raises:
            BundleError: the file is missing, no regular file, or differs.
        """
        entry, opened = self._entries[path], self._open_regular(path)
        digest = hashlib.sha256()
        with self._typed(path):
            # One byte more than there should be shows that it grew.
            for piece in pieces(opened.content, entry.bytes + 1, min(size, opened.state[0] + 1)):
                digest.update(piece)
                yield piece
        self._compare(path, entry.sha256, digest.hexdigest())

    def map(self, path: str) -> Any:
        """Returns the memory of a whole file, mapped copy-on-write. The file stays open until `close`.

        Raises:
            BundleError: the file is missing, no regular file, or of another size.
        """
        if path in self._mapped:
            return self._mapped.pop(path)
        entry, opened = self._entries[path], self._opened.get(path) or self._open_regular(path)
        with self._typed(path):
            self._check_size(entry, opened.content.state()[0])
            self._opened[path] = opened
            return opened.content.map(entry.bytes)

    def check_unchanged(self) -> None:
        """Makes sure that nobody has written to a mapped file since it was opened.

        Touching a page that a file no longer has would end the process. That it lost its name does not
        matter: a bundle that was replaced lives on until it is closed. If its time alone has changed, its
        content is compared again.

        Raises:
            ChangedFileError: somebody has.
        """
        for path, opened in list(self._opened.items()):
            entry = self._entries[path]
            # Before the content: what is written while that is read is noticed next time.
            with self._typed(path):
                state = opened.content.state()
            if state == opened.state:
                continue
            try:
                self._check_size(entry, state[0])
                for block in self._blocks.of(entry):
                    self._compare_block(entry, block)
            except DamagedFileError as failure:
                raise self._changed(path) from failure
            self._opened[path] = opened._replace(state=state)

    def replaced(self) -> bool:
        """Returns True if the path leads to another directory than when this one was opened."""
        root = self._root
        try:
            return root is not None and not os.path.samestat(os.stat(self.directory), os.fstat(root.number))
        except OSError:
            return False

    def release_directory(self) -> None:
        """Closes the directory; later reads find files by the path of the directory."""
        self._root = None
        self._held.clear()
        self._mapped.clear()

    def close(self) -> None:
        """Closes all open files; a file that is being read is closed afterwards."""
        self._closed = True
        self._opened.clear()
        self._mapped.clear()
        self._root = None

    def __enter__(self) -> BundleFiles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def check_contents(self) -> None:
        """Compares the listed files' kinds and sizes, which costs nothing and names a cut-off copy at once.

        Raises:
            BundleError: one is missing, no regular file, or of another size.
        """
        found = {path: self._found(path) for path in self._entries}
        missing = [self._absent(path) for path, parts in found.items() if not parts][:_NAMED]
        if missing:
            raise MissingFileError(f"The bundle {self.directory} lacks {', '.join(missing)}: {_ADVICE}.")
        for path, parts in found.items():
            for name, status in parts.items():
                self._check_kind(name, status)
            self._check_size(self._entries[path], sum(status.st_size for status in parts.values()))

    def check_nothing_else(self, ignored: Collection[str] = ()) -> None:
        """Makes sure that the directory holds nothing but the manifest and the listed files.

        Args:
            ignored: names of files that may lie anywhere in it.

        Raises:
            UnexpectedFileError: it holds something else.
        """
        parents = {path[:end] for path in self._entries for end, letter in enumerate(path) if letter == "/"}
        # There may be millions.
        extra = list(islice(self._unlisted("", parents, ignored), _NAMED))
        if extra:
            raise UnexpectedFileError(
                f"The bundle {self.directory} holds {', '.join(map(ascii, sorted(extra)))}, which its "
                "manifest does not list: move it out of the bundle."
            )

    def _unlisted(self, prefix: str, parents: Collection[str], ignored: Collection[str]) -> Iterator[str]:
        """Yields every path that leads to no listed file; the path of a directory ends with /."""
        for entry in self._list(prefix):
            path = prefix + entry.name
            if path in parents and entry.is_dir():
                yield from self._unlisted(path + "/", parents, ignored)
            elif path in self._entries or path == MANIFEST_NAME or _PART.sub("", path) in self._entries:
                continue
            elif entry.name not in ignored or not entry.is_file(follow_symlinks=False):
                yield path + "/" * entry.is_dir(follow_symlinks=False)

    def _list(self, prefix: str) -> Iterator[os.DirEntry[str]]:
        """Yields everything in a directory."""
        opened = self._open(prefix or ".", _DIRECTORY) if _RELATIVE else None
        with (
            self._typed(prefix),
            os.scandir(opened.number if opened else long_path(f"{self._place}/{prefix}")) as entries,
        ):
            yield from entries

    def _status(self, path: str) -> os.stat_result | None:
        """Returns the status of the file or directory at a path, or None if there is none."""
        root = self._root
        try:
            with self._typed(path):
                if root is None:
                    return os.stat(long_path(os.path.join(self._place, path)))
                return os.stat(path, dir_fd=root.number)
        except MissingFileError:
            return None

    def _found(self, path: str) -> dict[str, os.stat_result]:
        """Returns the status of a file, or of each of its parts; empty if there are none."""
        if (status := self._status(path)) is not None:
            return {path: status}
        parts = ((name, self._status(name)) for name in part_names(path))
        return {name: status for name, status in takewhile(lambda part: part[1], parts) if status}

    def _absent(self, path: str) -> str:
        """Returns a path for messages that say that it leads to nothing."""
        return f"{path} (a link that leads nowhere)" if os.path.islink(self.directory / path) else path

    def _check_kind(self, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise NotRegularFileError(
                f"{self.directory / path} is a pipe, socket, device or directory; expected a regular file: "
                f"{_ADVICE}."
            )

    def _changed(self, path: str) -> ChangedFileError:
        return ChangedFileError(
            f"{self.directory / path} was removed, replaced or written to while the bundle was open: "
            "expected the file that was checked. Load the bundle again, and replace bundles by renaming "
            "directories."
        )

    def _open_regular(self, path: str) -> _Opened:
        found = self._found(path)
        # Opening a device may have effects; a pipe may have come since.
        for name, status in found.items():
            self._check_kind(name, status)
        files = [self._open_file(name) for name in found or [path]]
        with self._typed(path):
            content = Parts(files)
            return _Opened(content, content.state())

    def _open_file(self, path: str) -> Descriptor:
        descriptor = self._open(path, _FILE)
        with self._typed(path):
            self._check_kind(path, os.fstat(descriptor.number))
        return descriptor

    def _open(self, path: str, flags: int) -> Descriptor:
        root = self._root
        if self._closed:
            raise ClosedBundleError
        with self._typed(path):
            if root is None:
                return Descriptor(os.open(long_path(os.path.join(self._place, path)), flags))
            return Descriptor(os.open(path, flags, dir_fd=root.number))

    @contextmanager
    def _typed(self, path: str) -> Iterator[None]:
        """Turns errors of the system into typed errors that name the file or directory `path`."""
        try:
            yield
        except OSError as failure:
            raise self._meaning(path, failure) from None

    def _meaning(self, path: str, failure: OSError) -> KokoroError:
        place = self.directory / path
        if failure.errno in SHORTAGES:
            return ResourceError(f"Reading {place}", failure.strerror)
        if failure.errno not in _ABSENT:
            return UnreadableFileError(
                f"{place} cannot be read ({failure.strerror}): correct that, or {_ADVICE}."
            )
        if path == MANIFEST_NAME:
            return MissingFileError(f"There is no {place}: {self.directory} is not a bundle.")
        return MissingFileError(f"The bundle {self.directory} lacks {self._absent(path)}: {_ADVICE}.")

    def _check_size(self, entry: FileEntry, found: int) -> None:
        if found != entry.bytes:
            raise DamagedFileError(
                f"{self.directory / entry.path} should have {entry.bytes} bytes and has {found}: {_ADVICE}."
            )

    def _hold(self, path: str) -> None:
        self._held[path] = b"".join(self.content(path, sys.maxsize))

    def _compare_block(self, entry: FileEntry, block: Block) -> None:
        if entry.path in self._mapped:
            memory = memoryview(self._mapped[entry.path])[block.start : block.start + block.bytes]
            found = hashlib.sha256(memory).hexdigest()
        else:
            opened = self._opened.get(entry.path) or self._open_regular(entry.path)
            # One byte more than there should be shows that the file grew.
            most = block.bytes + (block.number == block.last)
            with self._typed(entry.path):
                found = sha256_of_handle(opened.content, most, block.start)
        part = f", block {block.number} of {block.last}," if block.last > 1 else ""
        self._compare(entry.path + part, block.sha256, found)

    def _compare(self, name: str, expected: str, found: str) -> None:
        if found != expected:
            raise DamagedFileError(
                f"{self.directory / name} should have SHA-256 {expected}, has {found}: {_ADVICE}."
            )
