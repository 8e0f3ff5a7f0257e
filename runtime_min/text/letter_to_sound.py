"""Phonemes of a word that no lexicon has: a small network in integers, from left to right.

Each letter becomes none to three phonemes. What decides is the letters around it, the ends of the word
and the phonemes of the letters before: combinations of them are features, and the frequent ones have an
embedding. The sum of a letter's embeddings goes through two layers, with the sums, for the spelling alone,
of the four letters on either side and of the whole word. A beam search keeps the likeliest phonemes so far.
Integers make the phonemes equal on every machine.

One network has both dialects: which one it is combines with the letters, and each has its own biases of
the classes, far below the others for those that it does not use.

The file is `KLS1` and a zlib stream, in which are, little-endian: uint32 counts of features, of an
embedding's numbers, of hidden units and of classes, the bits that the hidden units are shifted by, and the
units of the scores in a nat; the classes' phonemes in 16 bytes of UTF-8 each; the features' hashes in
ascending order, uint32, each less the one before; int32, the biases of the hidden units and those of the
classes, American and British; then int8, the embeddings, with zeros as the last, and both layers' weights,
of shape (in, out); what goes in first is the letter's own sum, then those of the letters around it in their
order, then the word's, divided by 8. `training/train_letter_to_sound.py` writes it.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
import zlib
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import TextDataError
from .hashing import Hashes, factors, upper_half

Values = npt.NDArray[np.uint64]
Exact = npt.NDArray[np.float64]
"""Integers in float64, whose products and sums are exact."""

MAGIC = b"KLS1"
_COUNTS = struct.Struct("<6I")
NAME_BYTES = 16
_PART = "the weights that spell out words"
_REACH = 6
_LETTERS = 2 * _REACH + 1
# The positions of a letter's values, after those of the letters from _REACH before it to _REACH after it.
_HERE = _REACH
(_TO_END, _FROM_START, _THIRD_LAST, _SECOND_LAST, _LAST, _VOWELS_AFTER, _VOWELS_BEFORE, _LENGTH,
 _BEFORE, _SECOND_BEFORE, _THIRD_BEFORE, _STRESSED, _BRITISH,
 _COUNT) = range(_LETTERS, _LETTERS + 14)  # fmt: skip
BEFORE = slice(_BEFORE, _STRESSED)
"""The values for the classes of the three letters before, the nearest first: their numbers + 1."""
STRESSED = _STRESSED
"""The value that is 1 after the primary stress."""


def _window(before: int, after: int) -> range:
    return range(_HERE - before, _HERE + after + 1)


SPELLING = factors(
    [
        *(_window(before, after) for before in range(5) for after in range(5)),
        _window(1, 5), _window(5, 1), _window(5, 0), _window(0, 5), _window(0, 6), _window(6, 0),
        (_HERE, _TO_END, _LAST, _SECOND_LAST, _THIRD_LAST), (_HERE, _TO_END, _LAST, _SECOND_LAST),
        (_HERE, _TO_END, _LAST), (_HERE - 1, _HERE, _HERE + 1, _TO_END, _VOWELS_AFTER),
        (_HERE, _FROM_START, _VOWELS_AFTER, _VOWELS_BEFORE),
        (_HERE, _HERE + 1, _VOWELS_AFTER, _VOWELS_BEFORE, _LAST), (_HERE, _FROM_START, _LENGTH),
        (_HERE, _VOWELS_AFTER, _LAST, _SECOND_LAST),
        (_HERE - 2, _HERE - 1, _HERE, _HERE + 1, _HERE + 2, _VOWELS_AFTER), (_HERE, _TO_END, _FROM_START),
        (_HERE - 1, _HERE, _HERE + 1, _VOWELS_AFTER, _LAST, _SECOND_LAST, _THIRD_LAST),
        (_BRITISH,), (_BRITISH, _HERE), (_BRITISH, *_window(1, 1)), (_BRITISH, *_window(2, 2)),
        (_BRITISH, *_window(0, 2)), (_BRITISH, *_window(2, 0)), (_BRITISH, _HERE, _TO_END, _LAST),
        (_BRITISH, _HERE, _HERE + 1, _VOWELS_AFTER, _LAST),
    ],
    _COUNT, 1_000, 60,
)  # fmt: skip
"""The features that the spelling decides."""
HISTORY = factors(
    [
        (_BEFORE, _HERE), (_BEFORE, _SECOND_BEFORE, _HERE), (_BEFORE, _SECOND_BEFORE, _THIRD_BEFORE, _HERE),
        (_BEFORE, _HERE, _HERE + 1), (_BEFORE, _SECOND_BEFORE, _HERE, _HERE + 1, _HERE + 2),
        (_STRESSED, _HERE, _VOWELS_AFTER), (_STRESSED, _BEFORE, _HERE, _HERE + 1, _VOWELS_AFTER),
        (_STRESSED, _HERE, _HERE + 1, _VOWELS_AFTER, _VOWELS_BEFORE), (_BEFORE, _HERE - 1, _HERE, _HERE + 1),
        (_SECOND_BEFORE, _THIRD_BEFORE, _HERE), (_STRESSED, _HERE, _TO_END, _LAST, _SECOND_LAST),
        (_STRESSED, _HERE - 1, _HERE, _HERE + 1, _VOWELS_AFTER),
        (_BEFORE, _SECOND_BEFORE, *_window(1, 1)), (_BEFORE, _SECOND_BEFORE, _THIRD_BEFORE, *_window(0, 1)),
        (_STRESSED, _BEFORE, _HERE, _TO_END, _LAST, _SECOND_LAST), (_BRITISH, _BEFORE, _HERE),
        (_BRITISH, _STRESSED, _HERE, _VOWELS_AFTER),
    ],
    _COUNT, 9_000, 60,
)  # fmt: skip
"""The features that the phonemes before decide, too."""
_PRIMARY, _SECONDARY = "ˈˌ"
AROUND = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
"""Offsets of the neighbours whose sums of embeddings a letter sees beside its own."""
WORD_DIVISOR = 8
"""Divisor that makes the sum over all letters of a word as large as that of one letter."""
_VOWEL = re.compile("[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵊᵻ]")
_CACHED = 4_096
_PIECE = 64  # letters of a long word that are read together
_BEAM = 4
_COSTS_PER_NAT = 1 << 16


def letter_values(word: str, british: bool) -> Values:
    """Returns the values of each letter, of shape (values + 1, letters); those of HISTORY alone are 0.

    Args:
        word: Letters a to z and apostrophes.
        british: The dialect is British.
    """
    count = len(word)
    codes = np.zeros(count + 2 * _REACH, np.uint64)
    codes[_REACH : _REACH + count] = np.frombuffer(word.encode("ascii"), np.uint8) - ord("&")
    values = np.zeros((_COUNT + 1, count), np.uint64)
    for place in range(_LETTERS):
        values[place] = codes[place : place + count]
    letters = [letter in "aeiouy" for letter in word]
    starts = [vowel and not (index and letters[index - 1]) for index, vowel in enumerate(letters)]
    vowels, places = np.cumsum(starts), np.arange(count)
    values[_TO_END], values[_FROM_START] = np.minimum(count - places, 8), np.minimum(places, 8)
    for index, value in enumerate((_THIRD_LAST, _SECOND_LAST, _LAST), count + _REACH - 3):
        values[value] = codes[index]
    values[_VOWELS_AFTER], values[_VOWELS_BEFORE] = np.minimum(vowels[-1] - vowels, 5), np.minimum(vowels, 5)
    values[_LENGTH], values[_COUNT] = min(count, 12), 1
    values[_BRITISH] = 1 + british
    return values


def spelling_of(word: str) -> str:
    """Returns a word in the letters a to z and apostrophes; a letter of another script is named."""
    letters = "".join(_latin(character) for character in word.lower())
    return re.sub(r"(.)\1{2,}", r"\1\1", letters)


@lru_cache(_CACHED)
def _latin(character: str) -> str:
    if character in "'’":
        return "'"
    letters = re.findall("[a-z]", unicodedata.normalize("NFKD", character).lower())
    if not letters and character.isalpha():
        name = unicodedata.name(character, "letter").rpartition(" ")[2].lower()
        letters = [name if name.isalpha() and name.isascii() else "letter"]
    return "".join(letters)


def neighbours(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the indices of the letters around each letter of words that follow each other.

    Args:
        lengths: The number of letters of each word.

    Returns:
        Indices of shape (letters, around); the number of letters where the word has none.
    """
    firsts = np.repeat(np.cumsum(lengths) - lengths, lengths)[:, None]
    places = np.arange(len(firsts))[:, None] + AROUND
    inside = (places >= firsts) & (places < firsts + np.repeat(lengths, lengths)[:, None])
    return np.where(inside, places, len(firsts))


class LetterToSound:
    """Spells words out."""

    def __init__(self, data: bytes) -> None:
        """Takes the file's content, which is unpacked when the first word is spelled out.

        Raises:
            TextDataError: it is not such a file.
        """
        if data[: len(MAGIC)] != MAGIC:
            raise TextDataError(_PART, f"it begins with {bytes(data[:4])!r} instead of {MAGIC!r}")
        self._data = data
        self.phonemes = lru_cache(_CACHED)(self._phonemes)
        """Returns a word's phonemes in misaki's alphabet, with stress; not empty if the word has letters.

        Args:
            word: The word.
            british: The dialect is British.
        """

    @cached_property
    def _network(self) -> _Network:
        try:
            return _Network(zlib.decompress(memoryview(self._data)[len(MAGIC) :]))
        except (ValueError, struct.error, zlib.error) as failure:
            raise TextDataError(_PART, failure) from None

    def _phonemes(self, word: str, british: bool) -> str:
        spelling = spelling_of(word)
        if not spelling.strip("'"):
            return ""
        pieces = [spelling[start : start + _PIECE] for start in range(0, len(spelling), _PIECE)]
        return _with_one_stress("".join(self._piece(piece, british) for piece in pieces) or "ə")

    def _piece(self, letters: str, british: bool) -> str:
        """Returns the likeliest phonemes of letters that a beam search finds."""
        network = self._network
        values = letter_values(letters, british)
        sums = network.embedded(SPELLING @ values)
        around = network.around(sums)
        paths: list[tuple[int, ...]] = [(-1, -1, -1)]
        costs = np.zeros(1, np.int64)
        for index in range(len(letters)):
            columns = np.repeat(values[:, index : index + 1], len(paths), 1)
            columns[BEFORE] = np.array([path[:-4:-1] for path in paths]).T + 1
            columns[STRESSED] = [not network.stressing.isdisjoint(path) for path in paths]
            embedded = sums[index] + network.embedded(HISTORY @ columns)
            ways = costs[:, None] + network.costs(embedded, around[index], british)
            best = np.argsort(ways, axis=None, kind="stable")[:_BEAM]
            costs = ways.reshape(-1)[best]
            paths = [(*paths[way // ways.shape[1]], way % ways.shape[1]) for way in best.tolist()]
        return "".join(network.classes[number] for number in paths[0][3:])


class _Network:
    """The network, unpacked."""

    def __init__(self, data: bytes) -> None:
        features, width, hidden, classes, self._shift, self._units = _COUNTS.unpack_from(data)
        position = _COUNTS.size

        def take(dtype: str, *shape: int) -> npt.NDArray[Any]:
            nonlocal position
            array = np.frombuffer(data, dtype, math.prod(shape), position).reshape(shape)
            position += array.nbytes
            return array

        self.classes = [name.decode() for name in take(f"S{NAME_BYTES}", classes).tolist()]
        self.stressing = {number for number, name in enumerate(self.classes) if _PRIMARY in name}
        self._known = np.cumsum(take("<u4", features), dtype=np.uint32)
        self._biases = take("<i4", hidden), take("<i4", 2, classes)
        self._embeddings = take("i1", features + 1, width)
        # In float64, products and sums of such integers are exact.
        first = take("i1", (len(AROUND) + 2) * width, hidden).astype(np.float64)
        self._layers = first[:width], first[width:], take("i1", hidden, classes).astype(np.float64)

    def embedded(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Returns the sum of the embeddings of features, the first axis of their hashes."""
        keys = upper_half(hashes).astype(np.uint32)
        rows = np.searchsorted(self._known, keys)
        rows[rows == len(self._known)] = 0
        rows[self._known[rows] != keys] = len(self._known)
        sums: npt.NDArray[np.int64] = self._embeddings[rows].sum(0, dtype=np.int64)
        return sums

    def around(self, embedded: npt.NDArray[np.int64]) -> Exact:
        """Returns the contribution of a letter's neighbours, and of the whole word, to its hidden units."""
        count = len(embedded)
        sums = np.concatenate([np.maximum(embedded, 0), np.zeros_like(embedded[:1])])
        word = np.broadcast_to(sums.sum(0) // WORD_DIVISOR, embedded.shape)
        seen = np.concatenate([sums[neighbours(np.array([count]))].reshape(count, -1), word], 1)
        added: Exact = seen @ self._layers[1] + self._biases[0]
        return added

    def costs(self, embedded: npt.NDArray[np.int64], around: Exact, british: bool) -> npt.NDArray[np.int64]:
        """Returns the negative logarithms of the classes' likelihoods, from sums of embeddings.

        They are rounded, because the last bits of exp and log are not the same on every machine.
        """
        hidden = np.maximum(embedded, 0) @ self._layers[0] + around
        kept = np.floor(np.maximum(hidden, 0) / 2**self._shift)
        scores = (kept @ self._layers[2] + self._biases[1][int(british)]) / self._units
        costs: npt.NDArray[np.float64] = scores.max(-1, keepdims=True) - scores
        costs += np.log(np.exp(-costs).sum(-1, keepdims=True))
        rounded: npt.NDArray[np.int64] = np.rint(costs * _COSTS_PER_NAT).astype(np.int64)
        return rounded


def _with_one_stress(phonemes: str) -> str:
    """Returns phonemes with one primary stress, the first there is, or that on the first vowel."""
    first, _, rest = phonemes.partition(_PRIMARY)
    if rest:
        return first + _PRIMARY + rest.replace(_PRIMARY, _SECONDARY)
    if _SECONDARY in phonemes:
        return phonemes.replace(_SECONDARY, _PRIMARY, 1)
    return _VOWEL.sub(lambda vowel: _PRIMARY + vowel[0], phonemes, count=1)
