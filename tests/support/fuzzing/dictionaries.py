"""Chinese dictionaries that are damaged, or whose numbers are anything."""

from __future__ import annotations

import struct
import zlib
from importlib.resources import files
from random import Random

from runtime_min.text.chinese_dictionary import HEADER

DATA = (files("exporter.text") / "data" / "zh.dictionary.bin").read_bytes()
CONTENT = zlib.decompress(DATA[HEADER.size :], -zlib.MAX_WBITS)
_SYLLABLES = 12_000
"""Bytes at the end of the content that are text."""


def repacked(content: bytes, **changes: int) -> bytes:
    """Returns the file with another content and other numbers in its header."""
    names = ("magic", "words", "phrases", "spoken", "cost")
    values = dict(zip(names, HEADER.unpack_from(DATA), strict=False)) | changes
    packer = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    header = HEADER.pack(*values.values(), *HEADER.unpack_from(DATA)[5:])
    return header + packer.compress(content) + packer.flush()


def changed(changes: bytes) -> bytes:
    """Returns the dictionary with changed bytes: each change has a place in four bytes, and a value."""
    data = bytearray(DATA[: HEADER.size] + CONTENT)
    for start in range(0, len(changes) - 4, 5):
        where = int.from_bytes(changes[start : start + 4], "big")
        if where >= HEADER.size:
            where = HEADER.size + (where - HEADER.size) % len(CONTENT)
        data[where] = changes[start + 4]
    packer = zlib.compressobj(0, wbits=-zlib.MAX_WBITS)
    return bytes(data[: HEADER.size]) + packer.compress(bytes(data[HEADER.size :])) + packer.flush()


DAMAGED = {
    "empty": b"",
    "magic": b"KLX2" + DATA[4:],
    "cut": DATA[:-1],
    "longer": DATA + b"\0",
    "not compressed": DATA[: HEADER.size] + b"\xff" * 1000,
    "too many words": repacked(CONTENT, words=1 << 31),
    "no words": repacked(CONTENT, words=0),
    "fewer phrases": repacked(CONTENT, phrases=5),
    "no syllables": repacked(CONTENT[:-5000]),
    "a bomb": repacked(CONTENT + bytes(1 << 20)),
    "not UTF-8": repacked(CONTENT + b"\xff"),
}


def hostile(seed: int) -> bytes:
    """Returns a dictionary that can be read, and has other words, readings and costs."""
    random = Random(seed)
    content = bytearray(CONTENT)
    for _ in range(2_000):
        content[random.randrange(len(content) - _SYLLABLES)] = random.randrange(256)
    costs = struct.pack("<20H", *random.choices((0, 1, 0xFFFF), k=20))
    data = repacked(bytes(content))
    return data[: HEADER.size - len(costs)] + costs + data[HEADER.size :]
