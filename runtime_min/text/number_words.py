"""Numbers of a language as words, by the rules of a bundle, and Roman numerals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from ..format.schema import Node
from .rewriting import FIRST_PLACE, places_in, text_of

LARGEST = 10**12 - 1
"""The largest number that the rules say."""
_ROMAN_VALUES = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


class Numbers:
    """Rules that say numbers, each from a number on."""

    def __init__(self, node: Node, sets: Sequence[Numbers], count: int) -> None:
        """Takes the data, all sets of rules as soon as they are read, and the number of these sets."""
        bases, with_rest, without, ending = node.elements(4, 4)
        self._bases = [each.integer(0, LARGEST) for each in bases.elements(1)]
        self._with_rest = [places_in(each, 2 * count) for each in with_rest.elements()]
        self._without = [places_in(each, 2 * count) for each in without.elements()]
        self._ending = [text_of(each) for each in ending.elements(2, 2)]
        self._sets, self._count = sets, count
        # Every form that a text may have asks for the same numbers.
        self.say = lru_cache(maxsize=1024)(self._said)
        if self._bases != sorted({*self._bases}) or not (
            len(self._bases) == len(self._with_rest) == len(self._without)
        ):
            raise bases.error("ascending numbers, and two texts for each")
        for base, texts in zip(self._bases, zip(self._with_rest, self._without, strict=True), strict=True):
            for text in texts:
                # Parts with fewer digits, and no more than two of them, so that the time is bounded.
                remainders = sum(0 <= ord(letter) - FIRST_PLACE < count for letter in text)
                quotients = sum(count <= ord(letter) - FIRST_PLACE < 2 * count for letter in text)
                if max(remainders, quotients) > (base >= 10):
                    raise node.error("at most one remainder and one quotient, from 10 on")

    def _said(self, number: int) -> str:
        """Returns a number in words; nothing if no rule has it."""
        words = self._say(number)
        ending, other = self._ending
        return words[: -len(ending)] + other if ending and words.endswith(ending) else words

    def _say(self, number: int) -> str:
        index = bisect_right(self._bases, number) - 1
        if index < 0:
            return ""
        quotient, rest = divmod(number, 10 ** (len(str(self._bases[index])) - 1))
        text = (self._with_rest if rest and self._bases[index] >= 10 else self._without)[index]
        parts: list[str] = []
        for letter in text:
            place = ord(letter) - FIRST_PLACE
            if 0 <= place < 2 * self._count:
                say = self._sets[place % self._count].say
                parts.append(say(rest if place < self._count else quotient))
            else:
                parts.append(letter)
        return "".join(parts)


def roman_value(letters: str) -> int:
    """Returns the value of a Roman numeral, 0 if the letters are none."""
    value, start = 0, 0
    for own, sign in _ROMAN_VALUES:
        while letters.startswith(sign, start):
            value, start = value + own, start + len(sign)
    return value if start == len(letters) and letters == _roman(value) else 0


def _roman(value: int) -> str:
    letters = ""
    for own, sign in _ROMAN_VALUES:
        letters += sign * (value // own)
        value %= own
    return letters
