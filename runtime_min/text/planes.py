"""The parts of a compressed file of numbers: raw DEFLATE (RFC 1951), as `bundles/FORMAT.md` describes it."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

_LONGEST_REST = 1 << 16


class Planes:
    """The content of such a file, one part after the other."""

    def __init__(self, packed: bytes, fixed: int) -> None:
        """Takes the compressed bytes.

        Args:
            packed: the stream.
            fixed: bytes of the parts before `rest`, which may have 65,536 bytes.

        Raises:
            ValueError: the stream has another length.
            zlib.error: it is no such stream.
        """
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        self._content = unpacker.decompress(packed, fixed + _LONGEST_REST)
        if not unpacker.eof or unpacker.unused_data or len(self._content) < fixed:
            raise ValueError("its parts do not fit")
        self._start = 0

    def keys(self, count: int) -> NDArray[np.uint64]:
        """Returns hashes, from the distances between them."""
        return np.cumsum(self.numbers(count, 4)).astype(np.uint64)

    def numbers(self, count: int, size: int) -> NDArray[np.int64]:
        """Returns numbers of `size` bytes: the lowest bytes of all come first, then the next ones."""
        numbers = np.zeros(count, np.int64)
        for place in range(size):
            numbers |= self.octets(count).astype(np.int64) << 8 * place
        return numbers

    def octets(self, count: int) -> NDArray[np.uint8]:
        """Returns numbers of a byte."""
        self._start += count
        return np.frombuffer(self._content, "u1", count, self._start - count)

    def rest(self) -> bytes:
        """Returns all that is left."""
        return self._content[self._start :]
