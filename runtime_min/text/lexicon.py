"""Words and their phonemes in a file that is searched as it is; `bundles/FORMAT.md` describes it."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..errors import TextDataError

MAGIC = b"KLX1"
HEADER = struct.Struct("<4s4I")
"""`MAGIC`, and the bytes of the four parts: meanings of codes, first words, ends of blocks, blocks."""
BLOCK = 16
"""Words of a block."""
MOST_SHARED = 15
"""Most letters that a word shares with the first one of its block."""
SILVER = 16
"""Flag in the byte before a word: the word was not checked by hand."""
_WORD = b"'-.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FIRST_CODE = 32
VALUE_CODES = [code for code in range(_FIRST_CODE, 256) if code not in _WORD]
"""Bytes of phonemes, of which no word consists."""
_VALUE = re.compile(b"[^\0-\x1f]*")


class Entry(NamedTuple):
    """A word of the lexicon."""

    gold: bool
    """The word was checked by hand."""
    phonemes: str
    """The phonemes where no tag of `others` holds; empty if the word is spelled."""
    others: Mapping[str, str]
    """Phonemes by part of speech, or ``None`` for the last word before a pause; mostly empty."""


class Lexicon:
    """The lexicon of one dialect."""

    def __init__(self, data: bytes) -> None:
        """Takes the file's content.

        Raises:
            TextDataError: it is not such a file.
        """
        try:
            magic, *sizes = HEADER.unpack_from(data)
            meanings, firsts, ends, start = np.cumsum([HEADER.size, *sizes[:3]]).tolist()
            values = str(data[meanings:firsts], "utf-8").split("\n")
            self._first_words = data[firsts:ends].split(b"\n")
            self._ends = np.frombuffer(data[ends:start], "<u4")
        except (struct.error, UnicodeDecodeError, ValueError) as failure:
            raise TextDataError("the lexicon", failure) from None
        whole = magic == MAGIC and start + sizes[3] == len(data)
        if not whole or len(values) > len(VALUE_CODES) or len(self._first_words) != len(self._ends):
            raise TextDataError("the lexicon", "its parts do not fit")
        self._meanings = [""] * 256
        for code, value in zip(VALUE_CODES, values, strict=False):
            self._meanings[code] = value
        self._data, self._start = data, start
        self._found: dict[str, Entry | None] = {}

    def find(self, word: str) -> Entry | None:
        """Returns the entry of exactly this word, or None."""
        if word not in self._found:
            # Bounded, for texts of ever new words.
            if len(self._found) > 1 << 14:
                self._found.clear()
            self._found[word] = self._find(word)
        return self._found[word]

    def _find(self, word: str) -> Entry | None:
        if not word.isascii():
            return None
        key = word.encode()
        number = bisect_right(self._first_words, key) - 1
        if number < 0 or key.translate(None, _WORD):
            return None
        begin = int(self._ends[number - 1]) if number else 0
        block = self._data[self._start + begin : self._start + int(self._ends[number])]
        first = self._first_words[number]
        shared = shared_letters(first, key)
        for flag in (0, SILVER):
            head = bytes([shared | flag]) + key[shared:]
            place = block.find(head) + len(head)
            # Shorter words come first, so that the word itself is found before those that it begins.
            if place >= len(head) and (place == len(block) or block[place] not in _WORD):
                return self._entry(block, place, gold=not flag)
        return None

    def _entry(self, block: bytes, place: int, gold: bool) -> Entry:
        found = _VALUE.match(block, place)
        codes = found[0] if found else b""
        phonemes, *others = "".join([self._meanings[code] for code in codes]).split("|")
        return Entry(gold, phonemes, {tag: own for tag, _, own in (other.partition(":") for other in others)})


def shared_letters(first: bytes, word: bytes) -> int:
    """Returns how many letters a word shares with the first one of its block, at most `MOST_SHARED`."""
    most = min(MOST_SHARED, len(first), len(word))
    return next((place for place in range(most) if first[place] != word[place]), most)
