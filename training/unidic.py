"""Reads UniDic as MeCab compiled it: the words of `sys.dic` and the costs of `matrix.bin`."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_HEADER = struct.Struct("<10I32x")
_TOKEN = np.dtype(
    [("left", "<u2"), ("right", "<u2"), ("part", "<u2"), ("cost", "<i2"), ("feature", "<u4"), ("", "<u4")]
)
_PRONUNCIATION, _KANA = 9, 17
"""Fields of a feature."""


class Entry(NamedTuple):
    """An entry of the dictionary."""

    surface: str
    left: int
    right: int
    cost: int
    features: tuple[str, ...]

    @property
    def reading(self) -> str:
        """The reading in katakana, empty if there is none."""
        fields = (self.features[place] for place in (_PRONUNCIATION, _KANA) if place < len(self.features))
        return next((field for field in fields if field not in ("", "*")), "")


def read_entries(path: Path) -> Iterator[Entry]:
    """Yields the entries of `sys.dic` or `unk.dic`."""
    data = path.read_bytes()
    *_, trie, tokens, features, _ = _HEADER.unpack_from(data)
    start = _HEADER.size
    units = np.frombuffer(data, "<i4", trie // 4, start).reshape(-1, 2)
    table = np.frombuffer(data, _TOKEN, tokens // _TOKEN.itemsize, start + trie)
    texts = data[start + trie + tokens : start + trie + tokens + features]
    for surface, value in _surfaces(units):
        for left, right, _, cost, place, _ in table[value >> 8 : (value >> 8) + (value & 255)].tolist():
            fields = texts[place : texts.index(b"\0", place)].decode().split(",")
            yield Entry(surface.decode(), left, right, cost, tuple(fields))


def read_matrix(path: Path) -> NDArray[np.int16]:
    """Returns the costs of connections, by the class of a word on the left and that of the one before."""
    numbers = np.fromfile(path, "<i2")
    return numbers[2:].reshape(numbers[1], numbers[0])


def _surfaces(units: NDArray[np.int32]) -> Iterator[tuple[bytes, int]]:
    """Yields the keys of a double-array trie and their values."""
    bases, parents = units[:, 0].tolist(), defaultdict(list)
    for place, check in enumerate(units[:, 1].view("u4").tolist()):
        if check:
            parents[check].append(place)
    stack = [(0, b"")]
    while stack:
        node, key = stack.pop()
        base = bases[node]
        for child in parents.get(base, ()):
            if child == base:
                if bases[child] < 0:
                    yield key, -bases[child] - 1
            elif 0 <= child - base - 1 < 256:
                stack.append((child, key + bytes([child - base - 1])))
