"""A bundle as one file: a plain tar archive, the same bytes for the same bundle.

The manifest comes first, then its files in its order, each after a header that follows from path and size
alone. Unpacking parses no header: it computes the expected one and compares. That refuses links, devices,
other paths, other orders, compression and anything after the end. `tar -x` reads the archive, too.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from exporter.bundle.staging import (
    DestinationExistsError,
    check_replaceable,
    is_free,
    staged,
    write_errors,
)
from runtime_min.errors import BundleError, OutputError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import MANIFEST_NAME, FileEntry, Manifest
from runtime_min.format.msgpack import MAXIMUM_BYTES
from runtime_min.format.origin import ManifestCheck
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import manifest_of
from runtime_min.output.writer import Output

_BLOCK = 512
_PIECE = 1 << 20
_END = bytes(2 * _BLOCK)
_SIZE = slice(124, 136)
"""The part of a header that holds the size of its file, in octal."""
_HEADROOM = 1 << 20


class ArchiveError(BundleError):
    """A file is not the archive of a bundle, or is damaged."""


def pack_bundle(bundle: Path, archive: Path, *, force: bool = False) -> None:
    """Checks a bundle and writes it into one file.

    Args:
        bundle: the directory.
        archive: the file to write.
        force: replace a file that exists.

    Raises:
        BundleError: the bundle is damaged.
        DestinationExistsError: `archive` exists.
        OutputError: the archive cannot be written.
    """
    if archive.is_file() and not force:
        raise DestinationExistsError(archive)
    with BundleFiles(bundle) as files:
        found: list[bytes] = []
        manifest = manifest_of(files, [found.append])
        files.check_contents()
        with Output(archive) as output:
            _write_member(output, MANIFEST_NAME, len(found[0]), found)
            for entry in manifest.files:
                _write_member(output, entry.path, entry.bytes, files.blocks(entry.path))
            output.write(_END)
            output.synchronise()


def unpack_archive(
    archive: Path, destination: Path, checks: Iterable[ManifestCheck] = (), *, force: bool = False
) -> Manifest:
    """Writes the bundle in an archive into a directory, and checks each file while writing it.

    Args:
        archive: a file that `pack_bundle` wrote.
        destination: the directory to create.
        checks: checks of the manifest, before anything is written.
        force: replace an earlier bundle at `destination`.

    Raises:
        ArchiveError: the file is not such an archive, or is damaged.
        BundleError: its manifest is wrong or fails a check.
        DestinationExistsError: something is at `destination`.
        NotABundleError: it is something other than a whole bundle or an empty directory, in spite of `force`.
        OutputError: the bundle cannot be written.
    """
    with _opened(archive) as file:
        reader = _Reader(archive, file)
        data = reader.manifest()
        for check in checks:
            check(data)
        manifest = parse_manifest(data)
        needed = sum(entry.bytes for entry in manifest.files) + _HEADROOM
        replaceable = check_replaceable if force else _check_free
        with staged(destination, needed, replaceable) as staging, write_errors(destination, needed):
            (staging / MANIFEST_NAME).write_bytes(data)
            for entry in manifest.files:
                reader.extract(entry, staging / entry.path)
            reader.end()
    return manifest


def _check_free(destination: Path) -> None:
    """Checks that nothing is at `destination` or an empty directory, and tells a bundle from other things."""
    check_replaceable(destination)
    if not is_free(destination):
        raise DestinationExistsError(destination)


class _Reader:
    """A position in an archive."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.file = file

    def error(self, problem: str) -> ArchiveError:
        return ArchiveError(
            f"{self.path} is not a sound archive of a bundle: {problem}. Fetch it again, or write it with "
            "'kokoro-export pack'."
        )

    def read(self, count: int) -> bytes:
        try:
            return self.file.read(count)
        except OSError as failure:
            raise ArchiveError(f"{self.path} cannot be read: {failure.strerror}.") from None

    def take(self, count: int, where: str) -> bytes:
        data = self.read(count)
        if len(data) != count:
            raise self.error(f"it ends {count - len(data)} bytes too early, in {where}")
        return data

    def manifest(self) -> bytes:
        """Reads the first file, whose size only its header states."""
        header = self.take(_BLOCK, "its first header")
        digits = header[_SIZE].rstrip(b"\0 ")
        size = int(digits, 8) if digits.isdigit() and not set(digits) & set(b"89") else -1
        if not 0 < size <= MAXIMUM_BYTES or header != _header(MANIFEST_NAME, size):
            raise self.error(f"expected {MANIFEST_NAME} of at most {MAXIMUM_BYTES} bytes as its first file")
        data = self.take(size, MANIFEST_NAME)
        self.padding(size, MANIFEST_NAME)
        return data

    def extract(self, entry: FileEntry, path: Path) -> None:
        """Writes the next file, which must be the one that the manifest lists."""
        if self.take(_BLOCK, f"the header of {entry.path}") != _header(entry.path, entry.bytes):
            raise self.error(f"expected the header of {entry.path} with {entry.bytes} bytes, found another")
        path.parent.mkdir(parents=True, exist_ok=True)
        digest, left = sha256(), entry.bytes
        with path.open("xb") as output:
            while left:
                piece = self.take(min(left, _PIECE), entry.path)
                digest.update(piece)
                output.write(piece)
                left -= len(piece)
        if digest.hexdigest() != entry.sha256:
            raise self.error(f"{entry.path} should have SHA-256 {entry.sha256}, has {digest.hexdigest()}")
        self.padding(entry.bytes, entry.path)

    def padding(self, size: int, where: str) -> None:
        expected = _padding(size)
        if self.take(len(expected), f"the padding of {where}") != expected:
            raise self.error(f"expected zeros after {where}")

    def end(self) -> None:
        if self.read(len(_END) + 1) != _END:
            raise self.error(f"expected {len(_END)} zeros and its end after the last file")


def _write_member(output: Output, path: str, size: int, blocks: Iterable[bytes]) -> None:
    for block in chain([_header(path, size)], blocks, [_padding(size)]):
        output.write(block)


def _header(path: str, size: int) -> bytes:
    """Returns the header of a file, which depends on nothing else: no owner, no date."""
    member = tarfile.TarInfo(path)
    member.size = size
    member.mode = 0o644
    try:
        return member.tobuf(tarfile.USTAR_FORMAT)
    except ValueError as error:
        raise OutputError(f"{path} does not fit into an archive ({error}): ship the directory.") from None


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _opened(archive: Path) -> BinaryIO:
    try:
        # A pipe has no size and cannot be trusted to end.
        if archive.is_file():
            return archive.open("rb")
    except (OSError, ValueError) as error:
        raise ArchiveError(f"{archive} cannot be read: {error}.") from None
    raise ArchiveError(f"{archive} is not an archive of a bundle: expected a file.")
