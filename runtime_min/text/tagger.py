"""Part-of-speech tags: a linear model over hashed features, in integers.

A word's score for a tag is the sum of the weights of its features: the word itself, its endings and
beginnings, its shape, the two words on either side and pairs of them. A second pass adds the tags that the
first pass gave to the words around it. What a type of word contributes is kept, so a sentence costs a few
numpy calls. Integers make the tags equal on every machine.

The data: little-endian uint32 counts of rows and of tags; the tags in 8 bytes each; for each row the size of
its steps, uint8; and the weights in steps of 4 bits, of shape (rows, half of the tags): those of the first
half in the upper bits, those of the second in the lower. `training/train_tagger.py` writes it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from .hashing import MULTIPLIER, Hashes, factors, upper_half

Rows = npt.NDArray[np.int64]

OUTSIDE = ""
"""Stands for a word beyond either end of the sentence."""
TAG_OUTSIDE = 255
"""Stands for its tag."""
REACH = 2
"""A word sees this many words on either side."""
_EDGE = 32  # of a long word
_CHUNK = 2_000
_WORD_TYPES = 4_096
_NAME_BYTES = 8
_STRAIGHT = str.maketrans("‘’“”–—", '`\'""--')
# The features of a word that its neighbours see, by their distance: indices into what `_features` returns.
_SEEN = {-2: (1, 4), -1: (1, 4, 9, 11), 0: tuple(range(14)), 1: (1, 4, 9, 11), 2: (1, 4)}
_PLACES = np.arange(len(_SEEN))[:, None]


def _features(word: str) -> list[str]:
    word = word.translate(_STRAIGHT)
    lower = word.lower()
    shape = "x" if word.islower() else "X" if word.isupper() else "T" if word[:1].isupper() else "m"
    shape += ("1" if len(word) == 1 else "") + ("a" if word.isalpha() else "n")
    shape += ("d" if any(map(str.isdigit, word)) else "") + ("-" if "-" in word else "")
    endings = [f"s{length}{lower[-length:]}" for length in range(1, 6)]
    beginnings = [f"p{length}{lower[:length]}" for length in range(1, 5)]
    return ["w" + word, "l" + lower, *endings, *beginnings, "h" + shape, "e" + shape + lower[-2:], "b"]


def word_hashes(words: Sequence[str]) -> Hashes:
    """Returns the hashes of the features of each word, of shape (words, features)."""
    return np.array(
        [[crc32(text.encode("utf-8", "surrogatepass")) for text in _features(word)] for word in words],
        np.uint64,
    )


def word_rows(hashes: Hashes, distance: int, rows: int) -> Rows:
    """Returns the rows for the features of words that stand at a distance, of shape (words, features)."""
    seen = hashes[:, list(_SEEN[distance])] + np.uint64((distance + 3) << 32)
    return _reduce(seen * np.uint64(MULTIPLIER), rows)


def pair_rows(lower: Hashes, rows: int) -> Rows:
    """Returns the rows for pairs of words, of shape (pairs, words).

    Args:
        lower: The hashes of the words in lower case, with REACH more at either end.
        rows: The number of rows of the weights.
    """
    return _combine([lower[1:-3], lower[2:-2], lower[3:-1]], _PAIRS, rows)


def context_rows(lower: Hashes, tags: npt.NDArray[np.uint8], rows: int) -> Rows:
    """Returns the rows for the tags around each word, of shape (features, words).

    Args:
        lower: The hashes of the words in lower case, with REACH more at either end.
        tags: The tags, with TAG_OUTSIDE in the same places.
        rows: The number of rows of the weights.
    """
    return _combine([tags[:-4], tags[1:-3], tags[3:-1], tags[4:], lower[2:-2]], _CONTEXTS, rows)


# The values that make a feature together, by their positions: the words and tags that `pair_rows` and
# `context_rows` list.
_PAIRS = factors([(0, 1), (1, 2), (0, 2)], 3, 100, 10)
_CONTEXTS = factors(
    [(1,), (2,), (0, 1), (2, 3), (1, 2), (1, 4), (2, 4), (1, 2, 4), (0, 1, 2)], 5, 200, 10
)  # fmt: skip


def _combine(values: Sequence[npt.NDArray[Any]], factors: Hashes, rows: int) -> Rows:
    table = np.ones((len(values) + 1, len(values[0])), np.uint64)
    for position, value in enumerate(values):
        table[position] = value
    return _reduce(factors @ table, rows)


def _reduce(hashes: Hashes, rows: int) -> Rows:
    return (upper_half(hashes) % np.uint64(rows)).astype(np.int64)


class Tagger:
    """Gives words the Penn Treebank's tags as spaCy's English models do: HYPH, NFP, ADD and AFX among them.

    Args:
        data: The tagger's data.
    """

    def __init__(self, data: bytes | memoryview | npt.NDArray[np.uint8]) -> None:
        rows, tags = (int(count) for count in np.frombuffer(data, "<u4", 2))
        names = np.frombuffer(data, f"S{_NAME_BYTES}", tags, 8)
        self._tags = [name.decode() for name in names.tolist()]
        start, half = 8 + _NAME_BYTES * tags, tags // 2
        steps = np.frombuffer(data, np.uint8, rows * half, start + rows).reshape(rows, half)
        self._weights = np.empty((rows, tags), np.uint8)
        np.right_shift(steps, 4, out=self._weights[:, :half])
        np.bitwise_and(steps, 15, out=self._weights[:, half:])
        self._weights *= np.frombuffer(data, np.uint8, rows, start)[:, None]
        self._lock = threading.Lock()
        self._types: dict[str, int] = {}
        self._lower = np.zeros(_WORD_TYPES, np.uint64)
        self._scores = np.zeros((_WORD_TYPES, len(_SEEN), tags), np.int16)

    def tag(self, words: Sequence[str]) -> list[str]:
        """Returns the tag of each word of a sentence; words are spaCy's tokens ("do", "n't")."""
        return self.tag_all([words])[0]

    def tag_all(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Returns the tags of each sentence, as `tag` does: many short ones cost few numpy calls together."""
        chunks = [
            words[start : start + _CHUNK] for words in sentences for start in range(0, len(words), _CHUNK)
        ]
        tags: list[str] = []
        first = size = 0
        for number, chunk in enumerate(chunks):
            if size + len(chunk) > _CHUNK:
                tags += self._tag(chunks[first:number])
                first, size = number, 0
            size += len(chunk)
        tags += self._tag(chunks[first:])
        rest = iter(tags)
        return [list(islice(rest, len(words))) for words in sentences]

    def _tag(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """Returns the tags of all words; a row between two sentences is beyond the ends of both."""
        rows, outside = len(self._weights), [OUTSIDE] * REACH
        words, inside = [*outside], list[int]()
        for sentence in sentences:
            inside += range(len(words), len(words) + len(sentence))
            words += [word if len(word) <= 2 * _EDGE else word[:_EDGE] + word[-_EDGE:] for word in sentence]
            words += outside
        places = np.array(inside, np.int64)
        with self._lock:
            types = self._types_of(words)
            lower = self._lower[types]
            scores = self._scores[types[_PLACES + (places - REACH)], _PLACES].sum(0, dtype=np.int32)
        scores += self._weights[pair_rows(lower, rows)[:, places - REACH]].sum(0, dtype=np.int32)
        tags = np.full(len(words), TAG_OUTSIDE, np.uint8)
        tags[places] = scores.argmax(1)
        scores += self._weights[context_rows(lower, tags, rows)[:, places - REACH]].sum(0, dtype=np.int32)
        return [self._tags[tag] for tag in scores.argmax(1).tolist()]

    def _types_of(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Returns the index of each word's type, and computes what new types contribute."""
        known = self._types
        new = list(dict.fromkeys(word for word in words if word not in known))
        if len(known) + len(new) > _WORD_TYPES:
            known.clear()
            new = list(dict.fromkeys(words))
        if new:
            start = len(known)
            hashes = word_hashes(new)
            self._lower[start : start + len(new)] = hashes[:, 1]
            for place, distance in enumerate(sorted(_SEEN)):
                rows = word_rows(hashes, distance, len(self._weights))
                self._scores[start : start + len(new), place] = self._weights[rows].sum(1, dtype=np.int16)
            known.update(zip(new, range(start, start + len(new)), strict=True))
        return np.array([known[word] for word in words], np.int64)
