"""Reads NVIDIA's container of machine code and PTX for several architectures."""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC = struct.pack("<I", 0xBA55ED50)
PTX, CUBIN = 1, 2


@dataclass(frozen=True)
class Entry:
    """Code for one architecture in a fatbin."""

    kind: int
    architecture: int
    code: bytes


def entries(fatbin: bytes) -> list[Entry]:
    """Returns the entries of a fatbin, whose header holds its length."""
    magic, version, position, size = struct.unpack_from("<4sHHQ", fatbin)
    assert (magic, version) == (MAGIC, 1)
    end = position + size
    found = []
    while position < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", fatbin, position)
        (architecture,) = struct.unpack_from("<I", fatbin, position + 28)
        position += header + size
        found.append(Entry(kind, architecture, fatbin[position - size : position]))
    return found
