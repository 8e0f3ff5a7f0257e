"""Words and their phonemes in a file that is searched as it is; `bundles/FORMAT.md` describes it."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError, SpokenTypeError, TextDataError, TextEncodingError
from ..speech.words import OwnWords

MAGIC = b"KLX2"
HEADER = struct.Struct("<4s4I")
"""`MAGIC`, and the bytes of the four parts: phonemes, first words, ends of blocks, blocks."""
BLOCK = 128
"""Words of a block."""
FIRST_CODE = 32
"""The code of the first phoneme, above those of line feeds."""
SILVER = "?"
"""Begins the phonemes of a word that was not checked by hand."""


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
            alphabet, firsts, ends, start = np.cumsum([HEADER.size, *sizes[:3]]).tolist()
            self._phonemes = dict(enumerate(str(data[alphabet:firsts], "utf-8"), FIRST_CODE))
            self._first_words = data[firsts:ends].split(b"\n")
            self._ends = np.frombuffer(data[ends:start], "<u4")
        except (struct.error, UnicodeDecodeError, ValueError) as failure:
            raise TextDataError("the lexicon", failure) from None
        whole = magic == MAGIC and start + sizes[3] == len(data)
        if not whole or len(self._first_words) != len(self._ends):
            raise TextDataError("the lexicon", "its parts do not fit")
        self._data, self._start = data, start
        # Bounded, for texts of ever new words.
        self._block = lru_cache(512)(self._unpacked)
        self._found = lru_cache(2_048)(self._find)
        self._own: dict[str, Entry] = {}

    def with_words(self, words: OwnWords) -> Lexicon:
        """Returns the same lexicon with words of an app, which come before its own.

        Raises:
            SpokenTypeError: a word or its phonemes are no text.
        """
        other = copy(self)
        other._own = {**self._own, **{word: _own_entry(word, words[word]) for word in words}}
        return other

    def own(self, word: str) -> Entry | None:
        """Returns the entry of a word that an app has given, or None."""
        return self._own.get(word)

    def find(self, word: str) -> Entry | None:
        """Returns the entry of exactly this word, or None."""
        return self._own.get(word) or self._found(word)

    def _find(self, word: str) -> Entry | None:
        if "\n" in word:
            return None
        key = word.encode("utf-8", "surrogatepass")
        number = bisect_right(self._first_words, key) - 1
        if number < 0:
            return None
        words, values = self._block(number)
        place = words.find(b"\n" + key + b"\n")
        if place < 0:
            return None
        line = words.count(b"\n", 0, place)
        return self._entry(values.split(b"\n", line + 1)[line])

    def _unpacked(self, number: int) -> tuple[bytes, bytes]:
        """Returns the words of a block between line feeds, and their phonemes in codes.

        Raises:
            TextDataError: the block is damaged.
        """
        first = self._start + (int(self._ends[number - 1]) if number else 0)
        try:
            block = zlib.decompress(
                self._data[first : self._start + int(self._ends[number])], -zlib.MAX_WBITS
            )
        except zlib.error as failure:
            raise TextDataError("the lexicon", failure) from None
        words, _, values = block.partition(b"\n\n")
        if words.count(b"\n") != values.count(b"\n"):
            raise TextDataError("the lexicon", "a block has more words than phonemes, or fewer")
        return b"\n" + words + b"\n", values

    def _entry(self, codes: bytes) -> Entry:
        text = codes.decode("latin-1").translate(self._phonemes)
        phonemes, *others = text.removeprefix(SILVER).split("|")
        tags = {tag: own for tag, _, own in (other.partition(":") for other in others)}
        return Entry(not text.startswith(SILVER), phonemes, tags)


def read_lexicon(path: Path) -> dict[str, str | dict[str, str]]:
    """Returns an app's own words from a file in UTF-8.

    A line has a word and its phonemes, or a word, a part of speech and the phonemes for it, between tabs or
    spaces: ``GIF ʤˈɪf`` or ``lead NOUN lˈɛd``. A line that begins with # is a comment.

    Raises:
        InputError: the file cannot be read, or a line is neither.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as failure:
        raise InputError(f"{path} cannot be read ({failure.strerror}): name a file of words.") from None
    except UnicodeDecodeError as failure:
        raise TextEncodingError(str(path), failure.start) from None
    words: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) > 3 or len(fields) < 2:
            raise InputError(
                f"{path}, line {number}: expected a word and its phonemes (GIF ʤˈɪf), found {line!r:.60}."
            )
        tag = fields[1] if len(fields) == 3 else "DEFAULT"
        words.setdefault(fields[0], {})[tag] = fields[-1]
    return {**words}


def own_phonemes(words: OwnWords) -> dict[str, str]:
    """Returns an app's own words with the phonemes for any part of speech.

    Raises:
        SpokenTypeError: a word or its phonemes are no text.
    """
    return {word: _own_entry(word, words[word]).phonemes for word in words}


def _own_entry(word: object, value: object) -> Entry:
    tags = {"DEFAULT": value} if isinstance(value, str) else value
    if not isinstance(word, str) or not isinstance(tags, Mapping) or not all(map(_is_text, tags.values())):
        raise SpokenTypeError("a lexicon of words and their phonemes as str", (word, value))
    others = {tag: phonemes for tag, phonemes in tags.items() if tag != "DEFAULT"}
    return Entry(True, tags.get("DEFAULT", next(iter(others.values()), "")), others)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
