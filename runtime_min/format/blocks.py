"""Digests of parts of large files, so that several threads can compare a file at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from ..errors import ManifestError
from .manifest import FileEntry
from .schema import Digest, Node, array, integer, reader_of

EXTENSION = "blocks"
"""Key among a manifest's extensions: a reader without it compares whole files."""


class Block(NamedTuple):
    """A part of a file."""

    start: int
    bytes: int
    sha256: str
    number: int
    """Counts from 1."""
    last: int
    """Number of the file's last block."""


class Blocks(NamedTuple):
    """The blocks of a bundle's large files; the field names are the keys of the manifest."""

    bytes: Annotated[int, integer(1, 1 << 34)]
    """Size of every block but the last one of a file."""
    digests: Mapping[str, Annotated[tuple[Digest, ...], array(1, 65_536)]]
    """SHA-256 of every block, in their order, by the path of the file."""

    def of(self, entry: FileEntry) -> list[Block]:
        """Returns the blocks of a file, which is one block if no digests of it are listed."""
        if entry.path not in self.digests:
            return [Block(0, entry.bytes, entry.sha256, 1, 1)]
        digests = self.digests[entry.path]
        starts = range(0, entry.bytes, self.bytes)
        return [
            Block(start, min(self.bytes, entry.bytes - start), digest, number, len(digests))
            for number, (start, digest) in enumerate(zip(starts, digests, strict=True), 1)
        ]


def read_blocks(extensions: Mapping[str, Any], files: Mapping[str, FileEntry]) -> Blocks:
    """Returns the blocks that a manifest's extensions describe.

    Args:
        extensions: the extensions of a manifest, which were not checked yet.
        files: every listed file by its path.

    Raises:
        ManifestError: they break the schema, or do not divide the listed files.
    """
    if EXTENSION not in extensions:
        return Blocks(1, {})
    blocks: Blocks = reader_of(Blocks)(Node(extensions[EXTENSION], f"extensions.{EXTENSION}"))
    for path, digests in blocks.digests.items():
        place = f"extensions.{EXTENSION}.digests[{path!r}]"
        if path not in files:
            raise ManifestError(place, "a file of the list 'files'", path)
        if len(digests) != -(-files[path].bytes // blocks.bytes):
            expected = f"a digest for every {blocks.bytes} bytes of {files[path].bytes}"
            raise ManifestError(place, expected, f"{len(digests)} digests")
    return blocks
