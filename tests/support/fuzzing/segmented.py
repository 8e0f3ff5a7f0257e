"""The dictionaries of languages without spaces, and others like them, that are damaged or hostile."""

from __future__ import annotations

import zlib
from importlib.resources import files
from random import Random
from struct import Struct
from typing import Any

from runtime_min.text import japanese_dictionary
from runtime_min.text.chinese import Chinese
from runtime_min.text.chinese_dictionary import ChineseDictionary
from runtime_min.text.japanese import Japanese
from runtime_min.text.japanese_dictionary import JapaneseDictionary
from tests.support.fuzzing import dictionaries


class FuzzedDictionary:
    """The dictionary of a language, and others like it."""

    def __init__(self, language: str, header: Struct, reader: Any, g2p: Any, text: str) -> None:
        self.language, self.reader, self.g2p, self.text = language, reader, g2p, text
        self.header = header
        self.data = (files("exporter.text") / "data" / f"{language}.dictionary.bin").read_bytes()
        self._numbers = header.unpack_from(self.data)
        self._content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(self.data[header.size :])

    def repacked(self, content: bytes, changes: dict[int, int], level: int = 0) -> bytes:
        """Returns the file with another content, and other numbers at places of its header.

        The content is stored uncompressed, which takes a thirtieth of the time, unless `level` is above 0.
        """
        numbers = [changes.get(place, number) for place, number in enumerate(self._numbers)]
        packer = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
        return self.header.pack(*numbers) + packer.compress(content) + packer.flush()

    def changed(self, changes: bytes) -> bytes:
        """Returns the file with changed bytes: each change has a place in four bytes, and a value."""
        size = self.header.size
        data = bytearray(self.data[:size] + self._content)
        for start in range(0, len(changes) - 4, 5):
            where = int.from_bytes(changes[start : start + 4], "big")
            if where >= size:
                where = size + (where - size) % len(self._content)
            data[where] = changes[start + 4]
        packer = zlib.compressobj(0, wbits=-zlib.MAX_WBITS)
        return bytes(data[:size]) + packer.compress(bytes(data[size:])) + packer.flush()

    def damaged(self) -> dict[str, bytes]:
        """Returns files that are no such dictionary, by what is wrong."""
        data, content, size = self.data, self._content, self.header.size
        return {
            "empty": b"",
            "magic": b"KLX2" + data[4:],
            "cut": data[:-1],
            "longer": data + b"\0",
            "not compressed": data[:size] + b"\xff" * 1000,
            "too many words": self.repacked(content, {1: 1 << 31}),
            "no words": self.repacked(content, {1: 0}),
            "fewer of others": self.repacked(content, {2: 5}),
            "less at the end": self.repacked(content[:-5000], {}, level=1),
            "a bomb": self.repacked(content + bytes(1 << 20), {}, level=1),
            "more at the end": self.repacked(content + b"\xff", {}, level=1),
        }

    def hostile(self, seed: int) -> bytes:
        """Returns a dictionary that may be read, and has other words, readings and costs."""
        random = Random(seed)
        content = bytearray(self._content)
        for start, size in self._free():
            for _ in range(2_000):
                content[start + random.randrange(size)] = random.randrange(256)
        return self.repacked(bytes(content), {})

    def _free(self) -> list[tuple[int, int]]:
        """Returns start and size of parts that may have any bytes."""
        words, entries, sounds, pairs, lefts, rights, _ = self._numbers[1:8]
        table = 5 * words + 4 * entries + sounds + 4 * pairs
        return [(0, 4 * words), (5 * words + 2 * entries, entries), (table, 2 * lefts * rights)]


class _FuzzedChinese(FuzzedDictionary):
    def changed(self, changes: bytes) -> bytes:
        return dictionaries.changed(changes)

    def damaged(self) -> dict[str, bytes]:
        return {name: made() for name, made in dictionaries.DAMAGED.items()}

    def hostile(self, seed: int) -> bytes:
        return dictionaries.hostile(seed)


CHINESE = _FuzzedChinese(
    "zh",
    dictionaries.HEADER,
    ChineseDictionary,
    Chinese,
    "我们在银行工作歡樂製造機很重要的时候了一二三長大鿿龥",
)
JAPANESE = FuzzedDictionary(
    "ja",
    japanese_dictionary.HEADER,
    JapaneseDictionary,
    Japanese,
    "すもももももももものうち、東京都に住んでいる人々はゝ龥",
)
DICTIONARIES = (CHINESE, JAPANESE)
