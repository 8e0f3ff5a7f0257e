"""Chinese dictionaries that are damaged, or whose numbers are anything."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from random import Random

from runtime_min.text import polyphones
from runtime_min.text.chinese_dictionary import HEADER

DATA = (files("exporter.text") / "data" / "zh.dictionary.bin").read_bytes()
_NUMBERS = HEADER.unpack_from(DATA)
_NAMES = ("magic", "words", "phrases", "spoken", "cost", "packed")
NETWORK = DATA[HEADER.size + _NUMBERS[_NAMES.index("packed")] :]
"""The network of polyphones, with which the file ends."""
_NETWORK_HEADER = NETWORK[: polyphones.HEADER.size]


def _unpacked(packed: bytes) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed)


CONTENT, NETWORK_CONTENT = _unpacked(DATA[HEADER.size :]), _unpacked(NETWORK[polyphones.HEADER.size :])
_SYLLABLES = 12_000
"""Bytes at the end of the content that are text."""
_WEIGHTS = range(18_304, 376_000)
"""Places in the network's content of embeddings, weights and biases."""


@lru_cache(maxsize=4)
def _packed(content: bytes, level: int = 1) -> bytes:
    packer = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def repacked(content: bytes, network: bytes = NETWORK, level: int = 1, **changes: int) -> bytes:
    """Returns the file with another content, another network and other numbers in its header."""
    packed = _packed(content, level)
    values = dict(zip(_NAMES, _NUMBERS, strict=False)) | {"packed": len(packed)} | changes
    return HEADER.pack(*values.values(), *_NUMBERS[len(_NAMES) :]) + packed + network


def network(content: bytes = NETWORK_CONTENT, header: bytes = _NETWORK_HEADER) -> bytes:
    """Returns the file with another network."""
    return repacked(CONTENT, header + _packed(content))


def changed(changes: bytes) -> bytes:
    """Returns the dictionary with changed bytes: each change has a place in four bytes, and a value."""
    parts = [DATA[: HEADER.size], CONTENT, _NETWORK_HEADER, NETWORK_CONTENT]
    data = bytearray(b"".join(parts))
    for start in range(0, len(changes) - 4, 5):
        where = int.from_bytes(changes[start : start + 4], "big")
        data[where % len(data)] = changes[start + 4]
    found = []
    for part in parts:
        found.append(bytes(data[: len(part)]))
        del data[: len(part)]
    packed = _packed(found[1], 0)
    place = HEADER.size - 2 * 20 - 4
    header = found[0][:place] + struct.pack("<I", len(packed)) + found[0][place + 4 :]
    return header + packed + found[2] + _packed(found[3], 0)


DAMAGED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "magic": lambda: b"KLX2" + DATA[4:],
    "cut": lambda: DATA[:-1],
    "longer": lambda: DATA + b"\0",
    "not compressed": lambda: DATA[: HEADER.size] + b"\xff" * 1000,
    "too many words": lambda: repacked(CONTENT, words=1 << 31),
    "no words": lambda: repacked(CONTENT, words=0),
    "fewer phrases": lambda: repacked(CONTENT, phrases=5),
    "no syllables": lambda: repacked(CONTENT[:-5000]),
    "a bomb": lambda: repacked(CONTENT + bytes(1 << 20)),
    "not UTF-8": lambda: repacked(CONTENT + b"\xff"),
    "no network": lambda: repacked(CONTENT, b""),
    "another network": lambda: repacked(CONTENT, b"KPY2" + NETWORK[4:]),
    "a network that is cut": lambda: repacked(CONTENT, NETWORK[:-1]),
    "a longer network": lambda: repacked(CONTENT, NETWORK + b"\0"),
    "a network without numbers": lambda: network(b""),
    "a network with more numbers": lambda: network(NETWORK_CONTENT + b"\n"),
    "a network with a character twice": lambda: network(bytes(2) + NETWORK_CONTENT[2:]),
    "a network with characters beyond U+FFFF": lambda: network(
        b"\xff\xff" * 5_000 + NETWORK_CONTENT[10_000:]
    ),
    "a network whose readings are another number": lambda: network(
        header=_NETWORK_HEADER[:8] + struct.pack("<I", 5) + _NETWORK_HEADER[12:]
    ),
    "a network that shifts too far": lambda: network(header=_NETWORK_HEADER[:-4] + struct.pack("<I", 32)),
}
"""What makes each of the files that are refused, by what is wrong."""


def hostile(seed: int) -> bytes:
    """Returns a dictionary that can be read, and has other words, readings and costs."""
    random = Random(seed)
    content = bytearray(CONTENT)
    for _ in range(2_000):
        content[random.randrange(len(content) - _SYLLABLES)] = random.randrange(256)
    costs = struct.pack("<20H", *random.choices((0, 1, 0xFFFF), k=20))
    weights = bytearray(NETWORK_CONTENT)
    for _ in range(20_000):
        weights[random.choice(_WEIGHTS)] = random.randrange(256)
    data = repacked(bytes(content), _NETWORK_HEADER + _packed(bytes(weights), 0), level=0)
    return data[: HEADER.size - len(costs)] + costs + data[HEADER.size :]
