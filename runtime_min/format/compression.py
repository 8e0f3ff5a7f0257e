"""Compression of files in an archive: the bytes of numbers by significance, and then zlib.

The high bytes of weights take few values, and their low bytes are noise. Apart from each other, the former
compress to less than two thirds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from ..threads import ahead, usable_cores

WIDTHS = (1, 2, 4)
"""Bytes of a number, by which a file may be grouped; 1 leaves it as it is."""
GROUP = 1 << 20
"""Bytes that are grouped together, a multiple of every width."""
_BEGIN, _END = b"\x78\xda", b"\x03\x00"
"""The header of a zlib stream (RFC 1950), and an empty last block (RFC 1951)."""


def compressed(pieces: Iterable[bytes], width: int) -> Iterator[bytes]:
    """Yields a file compressed on all cores; the same version of zlib gives the same bytes."""
    groups, cores, check = _groups(pieces), len(usable_cores()), 1
    yield _BEGIN
    with ThreadPoolExecutor(cores) as threads:
        while batch := list(islice(groups, 4 * cores)):
            for grouped, part in threads.map(lambda group: _compressed_group(group, width), batch):
                check = zlib.adler32(grouped, check)
                yield part
    yield _END + check.to_bytes(4, "big")


def _compressed_group(group: bytes, width: int) -> tuple[bytes, bytes]:
    """Returns a group by significance, and compressed as a part of a stream that others follow."""
    numbers = len(group) // width * width
    grouped = b"".join([*(group[first:numbers:width] for first in range(width)), group[numbers:]])
    # Low bytes repeat nothing, and looking for repetitions makes high bytes larger, too.
    strategy = zlib.Z_HUFFMAN_ONLY if width > 1 else zlib.Z_DEFAULT_STRATEGY
    stream = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL + 1, strategy)
    return grouped, stream.compress(grouped) + stream.flush(zlib.Z_SYNC_FLUSH)


def expanded(pieces: Iterable[bytes], width: int, size: int) -> Iterator[bytes]:
    """Yields a file of `size` bytes that was compressed, never more, in memory of a few groups.

    Raises:
        ValueError: the pieces are not zlib's, or are those of a larger or smaller file, or more follows.
    """
    for group in _groups(ahead(_inflated(pieces, size))):
        count, numbers = len(group) // width, len(group) // width * width
        whole = bytearray(group)
        for first in range(width):
            whole[first:numbers:width] = group[first * count : (first + 1) * count]
        yield bytes(whole)


def _inflated(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    stream, left = zlib.decompressobj(), size
    try:
        for piece in pieces:
            if stream.eof:
                raise ValueError("it is compressed and goes on after its end")
            waiting, found = piece, bytes(GROUP)
            # With less than was asked for, all that waited is used.
            while len(found) == GROUP and not stream.eof:
                found = stream.decompress(waiting, GROUP)
                waiting, left = stream.unconsumed_tail, left - len(found)
                if left < 0:
                    raise ValueError(f"it is compressed and has more than {size} bytes")
                yield found
            if stream.unused_data:
                raise ValueError("it is compressed and goes on after its end")
    except zlib.error as error:
        raise ValueError(f"it is not compressed as it should be ({error})") from None
    if left or not stream.eof:
        raise ValueError(f"it is compressed and ends {left} bytes too early")


def _groups(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the same bytes in pieces of `GROUP` bytes; the last piece may be smaller."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        while len(waiting) >= GROUP:
            yield bytes(waiting[:GROUP])
            del waiting[:GROUP]
    if waiting:
        yield bytes(waiting)
