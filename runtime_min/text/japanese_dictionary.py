"""Words of Japanese text and their readings, in a file of hashes; `bundles/FORMAT.md` describes it.

A text is divided where the words and their connections cost least, as MeCab does with UniDic; classes of
words that connect alike stand for UniDic's. Words that misaki joins are joined then.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Container, Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import TextDataError
from . import kana
from .planes import Planes
from .word_table import LONGEST, find_words, hashes_of

MAGIC = b"KJA1"
HEADER = struct.Struct("<4s7I4H")
"""`MAGIC`; the numbers of words, of their entries, of the readings' kana, of pairs of classes, of classes on
the left and on the right of a word, and of joined words; the classes before and after a
text, and the pair and the cost of an unknown word."""
COST_STEP, COST_BASE = 128, 16
"""A byte b is the cost of a word (b - `COST_BASE`) * `COST_STEP`."""
TABLE_STEP, TABLE_BASE = 32, 1_024
"""A number n is the cost of a connection (n - `TABLE_BASE`) * `TABLE_STEP`."""
MOST_ENTRIES = 64
"""Entries that a word may have."""
_MOST, _MOST_CLASSES = 1 << 20, 1_024
_LONGEST_RUN = 2_048
"""Characters that are divided together."""
_LONGEST_UNKNOWN = 24
_Numbers = NDArray[np.int64]


class _Nodes(NamedTuple):
    """The words that a text may have, in the order of their places and lengths."""

    place: _Numbers
    length: _Numbers
    entry: _Numbers
    """-1 for an unknown word."""
    pair: _Numbers
    cost: _Numbers


class JapaneseDictionary:
    """The words and readings of a bundle."""

    def __init__(self, data: bytes) -> None:
        """Takes the file's content.

        Raises:
            TextDataError: it is not such a file.
        """
        try:
            self._read(data)
        except (struct.error, zlib.error, ValueError) as failure:
            raise TextDataError("the Japanese dictionary", failure) from None

    def _read(self, data: bytes) -> None:
        magic, words, entries, sounds, pairs, lefts, rights, joined, *others = HEADER.unpack_from(data)
        self._before, self._after, self._unknown_pair, self._unknown_cost = others
        if (
            magic != MAGIC
            or max(words, entries, joined) > _MOST
            or not all((words, entries, pairs, joined))
            or max(sounds, 16 * pairs) > 16 * _MOST
            or not 0 < max(lefts, rights) <= _MOST_CLASSES
        ):
            raise ValueError("its header is not as expected")
        size = 5 * words + 4 * entries + sounds + 4 * pairs + 2 * lefts * rights + 4 * joined
        content = Planes(data[HEADER.size :], size)
        self._words, counts = content.keys(words), content.octets(words)
        self._ends = np.cumsum(counts, dtype=np.int32)
        self._pairs = content.numbers(entries, 2).astype(np.uint16)
        self._costs = content.octets(entries)
        self._sound_ends = np.cumsum(content.octets(entries), dtype=np.int32)
        self._sounds = content.octets(sounds)
        self._left, self._right = content.numbers(pairs, 2), content.numbers(pairs, 2)
        table = (content.numbers(lefts * rights, 2) - TABLE_BASE) * TABLE_STEP
        self._table = table.astype(np.int32).reshape(lefts, rights)
        self._joined = content.keys(joined)
        if (
            content.rest()
            or self._ends[-1] != entries
            or not 0 < counts.min() <= counts.max() <= MOST_ENTRIES
            or self._sound_ends[-1] != sounds
            or max(self._pairs.max(), self._unknown_pair) >= pairs
            or max(self._left.max(), self._after) >= lefts
            or max(self._right.max(), self._before) >= rights
        ):
            raise ValueError("its parts do not fit")

    def words(self, text: str) -> Iterator[tuple[int, str | None]]:
        """Yields the end and the phonemes of each word of a text, one after the other.

        The phonemes of a word with a character that has no reading are None.
        """
        for start in range(0, len(text), _LONGEST_RUN):
            for end, phonemes in self._run(text[start : start + _LONGEST_RUN]):
                yield start + end, phonemes

    def _run(self, text: str) -> Iterator[tuple[int, str | None]]:
        hashes = hashes_of(text)
        joined: list[set[int]] = [set() for _ in text]
        for length, place, _ in find_words(hashes, self._joined):
            joined[place].add(length)
        words = self._divided(text, hashes)
        first = 0
        while first < len(words):
            start = words[first][0]
            last = first + 1
            for number, (begin, end, entry) in enumerate(words[first : first + LONGEST], first + 1):
                if entry < 0 and not _is_katakana(text[begin]):
                    break
                if end - start in joined[start]:
                    last = number
            reading = [self._reading(text, *word) for word in words[first:last]]
            yield words[last - 1][1], kana.phonemes("".join(reading))
            first = last

    def _divided(self, text: str, hashes: list[NDArray[np.uint64]]) -> list[tuple[int, int, int]]:
        """Returns start, end and entry of each word on the cheapest way."""
        nodes = self._nodes(text, hashes)
        lefts, rights = self._left[nodes.pair], self._right[nodes.pair]
        totals, before = np.zeros(len(lefts), np.int64), np.full(len(lefts), -1, np.int64)
        numbers = np.arange(len(lefts))
        ending: list[list[_Numbers]] = [[] for _ in range(len(text) + 1)]
        firsts = np.searchsorted(nodes.place, np.arange(len(text) + 1)).tolist()
        lengths = nodes.length.tolist()
        for place, (first, last) in enumerate(pairwise(firsts)):
            own = slice(first, last)
            if place == 0:
                totals[own] = self._table[lefts[own], self._before] + nodes.cost[own]
            elif ending[place]:
                earlier = np.concatenate(ending[place])
                through = self._table[lefts[own, None], rights[earlier]] + totals[earlier]
                best = through.argmin(1)
                before[own] = earlier[best]
                totals[own] = through[numbers[: last - first], best] + nodes.cost[own]
            else:
                continue
            for length, same in groupby(range(first, last), lengths.__getitem__):
                start, *others = same
                ending[place + length].append(numbers[start : start + len(others) + 1])
        at_end = np.concatenate(ending[-1])
        node = int(at_end[(self._table[self._after, rights[at_end]] + totals[at_end]).argmin()])
        words = []
        while node >= 0:
            start = int(nodes.place[node])
            words.append((start, start + int(nodes.length[node]), int(nodes.entry[node])))
            node = int(before[node])
        return words[::-1]

    def _nodes(self, text: str, hashes: list[NDArray[np.uint64]]) -> _Nodes:
        """Returns the words of the dictionary, and unknown words in katakana and where none begins."""
        found = np.array([*find_words(hashes, self._words)], np.int64).reshape(-1, 3)
        lengths, places, numbers = found[np.argsort(found[:, 1], kind="stable")].T
        firsts = np.where(numbers > 0, self._ends[numbers - 1], 0)
        counts = self._ends[numbers] - firsts
        entries = np.arange(counts.sum()) + np.repeat(firsts - np.cumsum(counts) + counts, counts)
        unknown = _unknown(text, {*places.tolist()})
        place = np.concatenate([np.repeat(places, counts), unknown[:, 0]])
        order = np.argsort(place, kind="stable")
        alone = np.ones(len(unknown), np.int64)
        costs = (self._costs[entries].astype(np.int64) - COST_BASE) * COST_STEP
        return _Nodes(
            place[order],
            np.concatenate([np.repeat(lengths, counts), unknown[:, 1]])[order],
            np.concatenate([entries, -alone])[order],
            np.concatenate([self._pairs[entries], self._unknown_pair * alone])[order].astype(np.int64),
            np.concatenate([costs, self._unknown_cost * alone])[order],
        )

    def _reading(self, text: str, start: int, end: int, entry: int) -> str:
        """Returns a word in kana; as it is written if its entry has no reading."""
        first = int(self._sound_ends[entry - 1]) if entry > 0 else 0
        last = int(self._sound_ends[entry]) if entry >= 0 else first
        return kana.decoded(self._sounds[first:last].tobytes()) or text[start:end]


def _is_katakana(letter: str) -> bool:
    return "ァ" <= letter <= "ヺ" or letter == "ー"


def _unknown(text: str, known: Container[int]) -> _Numbers:
    """Returns place and length of unknown words: one character, in katakana also two and all of a run."""
    words: list[tuple[int, int]] = []
    run = 0
    for place in range(len(text) - 1, -1, -1):
        run = run + 1 if _is_katakana(text[place]) else 0
        if run or place not in known:
            lengths = {1, 2, run} if 1 < run <= _LONGEST_UNKNOWN else {1}
            words += ((place, length) for length in sorted(lengths))
    return np.array(words, np.int64).reshape(-1, 2)
