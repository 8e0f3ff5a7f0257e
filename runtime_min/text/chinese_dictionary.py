"""Words of Chinese text and their readings, in a file of hashes; `bundles/FORMAT.md` describes it.

Words are divided as jieba does: the likeliest way through all words that the dictionary has in the text;
what remains as single characters goes through a hidden Markov model, which finds unknown words. Within a
word the longest phrases from the left decide the reading, as in pypinyin. Of other characters with several
readings a network chooses one (`polyphones`); all others have one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import TextDataError
from .planes import Planes
from .polyphones import Polyphones
from .word_table import find_words, hashes_of

MAGIC = b"KZH2"
HEADER = struct.Struct("<4s5I20H")
"""`MAGIC`; the numbers of words, of phrases and of the phrases' syllables; what each word costs; the bytes
of the compressed parts; the costs of the first state of the Markov model, and of each state after each."""
FIRST, HAN = "\u4e00", 0x5200
"""The first character with readings, and how many there are."""
ABSENT = 0xFFFF
"""The cost of what the Markov model excludes."""
STATES = "BEMS"
"""A character begins, ends or continues a word, or is one."""
_BEFORE = {"B": "ES", "E": "BM", "M": "BM", "S": "ES"}
"""States that may come before a state; the second one wins a tie."""
_EXCLUDED = 1 << 32
"""Added to what is not possible: such ways differ by how often that is so alone."""
_LONGEST_RUN = 4_096
"""Characters that are divided together."""
_MOST = 1 << 20
"""Words, phrases and syllables that a file may have."""
_Part = tuple[int, int, int]
"""Place and length of a phrase, with its first syllable between them; -1 in place of it for a character."""


class ChineseDictionary:
    """The words and readings of a bundle."""

    def __init__(self, data: bytes) -> None:
        """Takes the file's content.

        Raises:
            TextDataError: it is not such a file.
        """
        try:
            magic, words, phrases, spoken, self._cost, packed, *steps = HEADER.unpack_from(data)
            if magic != MAGIC or max(words, phrases, spoken) > _MOST or not words or not phrases:
                raise ValueError("its header is not as expected")
            end = HEADER.size + packed
            content = Planes(data[HEADER.size : end], 5 * (words + phrases) + 2 * spoken + 10 * HAN)
            self._words, self._scores = content.keys(words), content.numbers(words, 1)
            self._phrases = content.keys(phrases)
            self._ends = np.cumsum(content.numbers(phrases, 1))
            self._spoken = content.numbers(spoken, 2)
            self._single = content.numbers(HAN, 2)
            emissions = [_costs(content.numbers(HAN, 2)) for _ in STATES]
            self._syllables = ["", *str(content.rest(), "utf-8").split("\n")]
            most = max(self._spoken.max(initial=0), self._single.max())
            if self._ends[-1] != spoken or most >= len(self._syllables):
                raise ValueError("its parts do not fit")
        except (struct.error, zlib.error, ValueError) as failure:
            raise TextDataError("the Chinese dictionary", failure) from None
        self._polyphones = Polyphones(data[end:])
        self._emissions = dict(zip(STATES, emissions, strict=True))
        costs = _costs(np.array(steps))
        self._first = dict(zip(STATES, costs, strict=False))
        self._steps = dict(
            zip(((before, after) for before in STATES for after in STATES), costs[4:], strict=True)
        )

    def words(self, text: str) -> Iterator[tuple[int, str | None]]:
        """Yields the end and the phonemes of each word of a text of Chinese characters, one after the other.

        The phonemes of a word with a character that has no reading are None.
        """
        for end, syllables in self.readings(text):
            yield end, "".join(syllables) if all(syllables) else None

    def readings(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """Yields the end of each word and the phonemes of each of its characters; "" if it has no reading."""
        for start in range(0, len(text), _LONGEST_RUN):
            for end, syllables in self._run(text[start : start + _LONGEST_RUN]):
                yield start + end, syllables

    def _run(self, text: str) -> Iterator[tuple[int, list[str]]]:
        hashes = hashes_of(text)
        scores: list[dict[int, int]] = [{1: 0} for _ in text]
        for length, place, entry in find_words(hashes, self._words):
            scores[place][length] = int(self._scores[entry])
        phrases: list[dict[int, int]] = [{} for _ in text]
        for length, place, entry in find_words(hashes, self._phrases):
            first = int(self._ends[entry - 1]) if entry else 0
            # Hashes of words of different lengths may be equal.
            if self._ends[entry] - first == length:
                phrases[place][length] = first
        ends = list(self._divided(text, scores))
        parts = [_parts(start, end, phrases) for start, end in pairwise([0, *ends])]
        undecided = [place for word in parts for place, first, _ in word if first < 0]
        chosen = self._polyphones.phonemes(text, undecided)
        for end, word in zip(ends, parts, strict=True):
            yield end, self._reading(text, word, chosen)

    def _divided(self, text: str, scores: list[dict[int, int]]) -> Iterator[int]:
        """Yields the end of each word."""
        best, lengths = [0] * (len(text) + 1), [1] * len(text)
        for place in range(len(text) - 1, -1, -1):
            best[place], lengths[place] = max(
                (score - self._cost + best[place + length], length) for length, score in scores[place].items()
            )
        start = place = 0
        while place < len(text):
            end = place + lengths[place]
            if lengths[place] > 1:
                yield from self._unknown(text, start, place, scores)
                yield end
                start = end
            place = end
        yield from self._unknown(text, start, len(text), scores)

    def _unknown(self, text: str, start: int, end: int, scores: list[dict[int, int]]) -> Iterator[int]:
        """Yields the end of each word of single characters, some of which may be a word together."""
        if end - start < 2 or end - start in scores[start]:
            yield from range(start + 1, end + 1)
            return
        states = self._likeliest([ord(letter) - ord(FIRST) for letter in text[start:end]])
        for place, state in enumerate(states, start + 1):
            if state in "ES":
                yield place

    def _likeliest(self, letters: list[int]) -> str:
        """Returns the likeliest state of each character."""
        emissions = self._emissions
        costs = {state: _sum(self._first[state], emissions[state][letters[0]]) for state in STATES}
        ways: list[dict[str, str]] = []
        for letter in letters[1:]:
            way, following = {}, {}
            for state in STATES:
                own = emissions[state][letter]
                one, other = (_sum(costs[each] + self._steps[each, state], own) for each in _BEFORE[state])
                way[state] = _BEFORE[state][other <= one]
                following[state] = min(one, other)
            costs = following
            ways.append(way)
        state = "S" if costs["S"] <= costs["E"] else "E"
        states = [state]
        for way in reversed(ways):
            state = way[state]
            states.append(state)
        return "".join(reversed(states))

    def _reading(self, text: str, parts: Sequence[_Part], chosen: Mapping[int, str]) -> list[str]:
        spoken: list[str] = []
        for place, first, length in parts:
            if first >= 0:
                spoken += [self._syllables[each] for each in self._spoken[first : first + length].tolist()]
            else:
                own = self._syllables[self._single[ord(text[place]) - ord(FIRST)]]
                spoken.append(chosen.get(place, own))
        return spoken


def _parts(start: int, end: int, phrases: list[dict[int, int]]) -> list[_Part]:
    """Returns the longest phrases of a word from the left, and the characters between them."""
    parts = []
    while start < end:
        length = max((each for each in phrases[start] if each <= end - start), default=0)
        parts.append((start, phrases[start][length] if length else -1, max(length, 1)))
        start += max(length, 1)
    return parts


def _sum(cost: int, other: int) -> int:
    cost += other
    return cost if cost < _EXCLUDED else cost - cost % _EXCLUDED


def _costs(values: NDArray[np.int64]) -> list[int]:
    return [_EXCLUDED if value == ABSENT else value for value in values.tolist()]
