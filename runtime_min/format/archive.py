"""A bundle as one file: a tar archive, the same bytes for the same bundle.

The manifest comes first, then its files in its order, each as it is or compressed, after a header that
follows from path, compression and size alone. Reading takes the size from a header, computes the expected
header and compares. That refuses links, devices, other paths, other orders and anything after the end.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from ..errors import ArchiveError, KokoroError, ResourceError
from .compression import WIDTHS, expanded
from .file_content import SHORTAGES, open_regular
from .manifest import MANIFEST_NAME, FileEntry, Manifest
from .msgpack import MAXIMUM_BYTES
from .origin import ManifestCheck
from .parse import parse_manifest

_BLOCK = 512
_PIECE = 1 << 20
END = bytes(2 * _BLOCK)
"""The last bytes of an archive."""
_SIZE = slice(124, 136)
"""The part of a header that holds the size of its file, in octal."""


def header(path: str, size: int) -> bytes:
    """Returns the header of a file, which depends on nothing else: no owner, no date.

    Raises:
        ValueError: the path does not fit.
    """
    member = tarfile.TarInfo(path)
    member.size = size
    member.mode = 0o644
    return member.tobuf(tarfile.USTAR_FORMAT)


def compressed_path(path: str, width: int) -> str:
    """Returns the path in the archive of a file that is compressed with its bytes grouped by `width`."""
    return f"{path}.z{width}"


def padding(size: int) -> bytes:
    """Returns the zeros that follow a file of `size` bytes."""
    return bytes(-size % _BLOCK)


def is_archive(path: Path) -> bool:
    """Returns True if `path` is a file and begins as an archive of a bundle does."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read(len(MANIFEST_NAME)) == MANIFEST_NAME.encode()
    except (OSError, ValueError):
        return False


def _size_in(found: bytes) -> int:
    """Returns the size that a header states, -1 if it states none."""
    digits = found[_SIZE].rstrip(b"\0 ")
    return int(digits, 8) if digits.isdigit() and not set(digits) & set(b"89") else -1


class PackedBundle:
    """An archive of a bundle, which is read once from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        """Opens the archive.

        Raises:
            ArchiveError: the file cannot be opened, or is not a regular file.
            ResourceError: the system has no descriptor left, or its disk failed.
        """
        self._path = path
        try:
            # A pipe has no size and cannot be trusted to end.
            self._file: BinaryIO = open(path, "rb", opener=open_regular)  # noqa: SIM115
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from None

    def manifest(self, checks: Iterable[ManifestCheck] = ()) -> tuple[bytes, Manifest]:
        """Reads the manifest, applies `checks` to its bytes, and only then parses it.

        Raises:
            ArchiveError: the file does not begin as an archive of a bundle does.
            BundleError: the manifest is not sound, or a check refuses it.
        """
        first = self._take(_BLOCK, "its first header")
        size = _size_in(first)
        if not 0 < size <= MAXIMUM_BYTES or first != header(MANIFEST_NAME, size):
            raise self._error(f"expected {MANIFEST_NAME} of at most {MAXIMUM_BYTES} bytes as its first file")
        data = self._take(size, MANIFEST_NAME)
        self._skip_padding(size, MANIFEST_NAME)
        for check in checks:
            check(data)
        return data, parse_manifest(data)

    def content(self, entry: FileEntry) -> Iterator[bytes]:
        """Yields the next file, which must be `entry`, in pieces; after the last one its digest is compared.

        Raises:
            ArchiveError: it is another file, or damaged.
        """
        width, size = self._stored(entry)
        pieces = self._pieces(size, entry.path)
        digest = sha256()
        try:
            for piece in expanded(pieces, width, entry.bytes) if width else pieces:
                digest.update(piece)
                yield piece
        except ValueError as error:
            raise self._error(f"{entry.path}: {error}") from None
        if digest.hexdigest() != entry.sha256:
            raise self._error(f"{entry.path} should have SHA-256 {entry.sha256}, has {digest.hexdigest()}")
        self._skip_padding(size, entry.path)

    def end(self) -> None:
        """Makes sure that nothing follows the last file.

        Raises:
            ArchiveError: something does.
        """
        if self._read(len(END) + 1) != END:
            raise self._error(f"expected {len(END)} zeros and its end after the last file")

    def __enter__(self) -> PackedBundle:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def _stored(self, entry: FileEntry) -> tuple[int, int]:
        """Reads the header of a file; returns its width, 0 if it is not compressed, and its size."""
        found = self._take(_BLOCK, f"the header of {entry.path}")
        size = _size_in(found)
        try:
            if found == header(entry.path, entry.bytes):
                return 0, entry.bytes
            for width in WIDTHS if 0 < size < entry.bytes else ():
                if found == header(compressed_path(entry.path, width), size):
                    return width, size
        except ValueError as error:
            raise self._error(f"{entry.path} does not fit into an archive ({error})") from None
        raise self._error(f"expected the header of {entry.path} with {entry.bytes} bytes, found another")

    def _pieces(self, size: int, where: str) -> Iterator[bytes]:
        while size:
            piece = self._take(min(size, _PIECE), where)
            yield piece
            size -= len(piece)

    def _skip_padding(self, size: int, where: str) -> None:
        expected = padding(size)
        if self._take(len(expected), f"the padding of {where}") != expected:
            raise self._error(f"expected zeros after {where}")

    def _take(self, count: int, where: str) -> bytes:
        data = self._read(count)
        if len(data) != count:
            raise self._error(f"it ends {count - len(data)} bytes too early, in {where}")
        return data

    def _read(self, count: int) -> bytes:
        try:
            return self._file.read(count)
        except OSError as failure:
            raise self._unreadable(failure) from None

    def _unreadable(self, failure: OSError | ValueError) -> KokoroError:
        if isinstance(failure, OSError) and failure.errno in SHORTAGES:
            return ResourceError(f"Reading {self._path}", failure.strerror)
        reason = getattr(failure, "strerror", None) or failure
        return ArchiveError(f"The packed bundle {self._path} cannot be read: {reason}.")

    def _error(self, problem: str) -> ArchiveError:
        return ArchiveError(
            f"{self._path} is not a sound archive of a bundle: {problem}. Fetch it again, or write it with "
            "'kokoro-export pack'."
        )


def verify_archive(path: Path, checks: Iterable[ManifestCheck] = ()) -> Manifest:
    """Checks a packed bundle to the last bit, and its manifest by each of `checks` before it is parsed.

    Raises:
        ArchiveError: the file is not an archive of a bundle, or is damaged.
        BundleError: its manifest is not sound, or a check refuses it.
    """
    with PackedBundle(path) as packed:
        _, manifest = packed.manifest(checks)
        for entry in manifest.files:
            for _ in packed.content(entry):
                pass
        packed.end()
    return manifest
