"""Ordered rules that rewrite the letters of a word, ``c`` to ``θ`` before ``e``, and its stress.

`bundles/FORMAT.md` has the form of the data. No rule looks further than a bounded number of letters, so the
time is linear in the text whatever the data are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..format.schema import Node

FIRST_PLACE = 0xE000
FIRST_RUN, _LAST_RUN, SAME = 0xF000, 0xF8FE, "\uf8ff"
"""Letters of a rule that stand for a set of letters, a run of them, and the letter before once more."""
EDGE = "\0"
"""Stands before and after the text, and in a rule for both of these places."""
_LONGEST_RUN = 32
PRIMARY, SECONDARY = "ˈ", "ˌ"


class _Set(NamedTuple):
    letters: frozenset[str]
    has: bool
    """The letters are those in the set, or else those outside of it."""
    order: str = ""
    is_run: bool = False

    def contains(self, letter: str) -> bool:
        return (letter in self.letters) is self.has


_Side = tuple[_Set, ...]


class _Contexts:
    """What may stand before and after a place."""

    def __init__(self, pairs: Sequence[tuple[_Side, _Side]]) -> None:
        self._pairs = pairs
        self._by_letter: dict[str, list[tuple[_Side, _Side]]] = {}

    def hold(self, text: str, start: int, end: int) -> bool:
        """Returns True if one of them stands around a part of a text with its edges."""
        letter = text[end]
        if (pairs := self._by_letter.get(letter)) is None:
            pairs = self._by_letter[letter] = [
                (left, right)
                for left, right in self._pairs
                if not right or right[0].is_run or right[0].contains(letter)
            ]
        for left, right in pairs:
            if left and not _holds(left, text, start - 1, -1):
                continue
            if not right or _holds(right, text, end, 1):
                return True
        return False


def text_of(node: Node) -> str:
    """Returns a string of the data.

    Raises:
        ManifestError: it is something else.
    """
    if not isinstance(node.value, str):
        raise node.error("a string")
    return node.value


def filled(text: str, values: Sequence[str]) -> str:
    """Returns a text with values in place of the characters that stand for them."""
    by_place = dict(enumerate(values, FIRST_PLACE))
    return text.translate(by_place)


def places_in(node: Node, count: int) -> str:
    """Returns a text in which characters stand for at most `count` values.

    Raises:
        ManifestError: it is no such text.
    """
    text = text_of(node)
    if any(FIRST_PLACE + count <= ord(letter) <= _LAST_RUN for letter in text):
        raise node.error(f"a text with places for {count} values")
    return text


class Sets:
    """The sets of letters that the rules of a language name."""

    def __init__(self, node: Node) -> None:
        """Takes an array of strings: ``+`` or ``-``, and the letters that are in the set, or are not.

        Raises:
            ManifestError: it is something else, as for all that reads data here.
        """
        self._sets = [self._set(each) for each in node.elements()]

    def _set(self, node: Node) -> _Set:
        text = text_of(node)
        if text[:1] not in ("+", "-") or EDGE in text or SAME in text:
            raise node.error("a set of letters")
        # The edges are in no set.
        letters = text[1:] if text[0] == "+" else text[1:] + EDGE
        return _Set(frozenset(letters), text[0] == "+", text[1:])

    def numbered(self, node: Node) -> _Set | None:
        """Returns a set by its number; None for -1."""
        number = node.integer(-1, len(self._sets) - 1)
        return None if number < 0 else self._sets[number]

    def side(self, node: Node) -> _Side:
        """Returns what must stand on one side of a place, from there outwards."""
        return tuple([self._letter(letter, node) for letter in text_of(node)])

    def _letter(self, letter: str, node: Node) -> _Set:
        code = ord(letter)
        if not FIRST_PLACE <= code <= _LAST_RUN:
            return _Set(frozenset(letter), True, letter)
        number = code - (FIRST_RUN if code >= FIRST_RUN else FIRST_PLACE)
        if number >= len(self._sets):
            raise node.error("letters and sets of the language")
        return self._sets[number]._replace(is_run=code >= FIRST_RUN)

    def contexts(self, node: Node) -> _Contexts | None:
        """Returns pairs of what stands before and after, or None if there are none."""
        sides = [self.side(each) for each in node.elements()]
        for side in sides:
            if any(EDGE in each.letters and each.has for each in side[:-1]) or len(sides) % 2:
                raise node.error("pairs of sides, of which an edge is the end")
        return _Contexts([*zip(sides[::2], sides[1::2], strict=True)]) if sides else None


class Rule:
    """What replaces some letters, and where."""

    def __init__(self, node: Node, sets: Sets) -> None:
        """Takes an array: letters, what replaces them, how each of them changes, contexts, exceptions."""
        focus, by, maps, contexts, exceptions = node.elements(5, 5)
        # Words must remain as many as they are, and no match goes beyond an edge.
        self.focus = [
            each if each.has else each._replace(letters=each.letters | {" "}) for each in sets.side(focus)
        ]
        self._maps = [
            dict(zip(each.order, text_of(to), strict=False)) if each.has else {}
            for each, to in zip(self.focus, maps.elements(0, len(self.focus)), strict=False)
        ]
        self._by = places_in(by, len(self._maps))
        self._copies = any(ord(letter) >= FIRST_PLACE for letter in self._by)
        self._contexts, self._exceptions = sets.contexts(contexts), sets.contexts(exceptions)
        first = text_of(focus)[:1]
        forbidden = any(each.is_run or each.contains(" ") or each.contains(EDGE) for each in self.focus)
        if first in ("", SAME) or forbidden or " " in self._by:
            raise focus.error("letters without a space")
        self._others = self.focus[1:]

    def matches(self, text: str, place: int) -> bool:
        """Returns True if, after the first letter, the others and the contexts are those of a place."""
        end = place + 1
        for each in self._others:
            letter = text[end]
            if letter != text[end - 1] if SAME in each.letters else not each.contains(letter):
                return False
            end += 1
        if self._contexts and not self._contexts.hold(text, place, end):
            return False
        return not (self._exceptions and self._exceptions.hold(text, place, end))

    def replacement(self, text: str, place: int) -> str:
        """Returns what replaces the letters at a place."""
        if not self._copies:
            return self._by
        letters = text[place : place + len(self._maps)]
        return filled(
            self._by, [own.get(letter, letter) for own, letter in zip(self._maps, letters, strict=True)]
        )


class Pass:
    """Rules of which the first that holds at a place applies, from left to right."""

    def __init__(self, node: Node, sets: Sets) -> None:
        """Takes an array of rules."""
        self._rules = [Rule(each, sets) for each in node.elements(1)]
        self._by_letter: dict[str, list[Rule]] = {}
        firsts = [rule.focus[0] for rule in self._rules]
        self._starts = frozenset[str]().union(*(first.letters for first in firsts))
        skips = all(first.has for first in firsts)
        self.only = "".join(self._starts) if skips and len(self._starts) == 1 else ""
        """The letter that a text must have for a rule to apply, or nothing if it may be one of several."""
        self._skips = skips and not self.only

    def apply(self, text: str, *, once: bool = False) -> str:
        """Returns a text with its edges, rewritten; `once` stops after the first place."""
        if self._skips and self._starts.isdisjoint(text):
            return text
        parts: list[str] = []
        place, copied, end = 1, 0, len(text) - 1
        while place < end:
            if self.only:
                place = text.find(self.only, place)
                if place < 0:
                    break
            letter = text[place]
            for rule in self._by_letter.get(letter) or self._of_letter(letter):
                if rule.matches(text, place):
                    parts += text[copied:place], rule.replacement(text, place)
                    place = copied = place + len(rule.focus)
                    break
            else:
                place += 1
                continue
            if once:
                break
        return "".join([*parts, text[copied:]]) if parts else text

    def _of_letter(self, letter: str) -> list[Rule]:
        rules = [rule for rule in self._rules if rule.focus[0].contains(letter)]
        if rules:
            self._by_letter[letter] = rules
        return rules


class Stress:
    """Which vowel of a word has the stress."""

    def __init__(self, node: Node, sets: Sets) -> None:
        """Takes an array: the set of vowels, the choices, and if every second one before has some stress."""
        vowels, choices, second = node.elements(3, 3)
        self._vowels, self._second = sets.numbered(vowels), second.boolean()
        self._choices = [
            (which.integer(-9, 9), sets.numbered(own), sets.contexts(ends))
            for which, own, ends in (each.elements(3, 3) for each in choices.elements())
        ]
        if any(which == 0 for which, _, _ in self._choices):
            raise choices.error("the numbers of vowels, from either end")

    def apply(self, text: str, mark: str) -> str:
        """Returns a text with its edges and the marks of stress before vowels."""
        vowels = self._vowels
        places = [place for place, letter in enumerate(text) if vowels and vowels.contains(letter)]
        stressed = next(self._chosen(text, places), None)
        if stressed is None:
            return text
        marked = {stressed: mark}
        if self._second and mark == PRIMARY:
            before = places[: places.index(stressed) : 2]
            marked |= dict.fromkeys(before, SECONDARY)
        return "".join([marked.get(place, "") + letter for place, letter in enumerate(text)])

    def _chosen(self, text: str, places: Sequence[int]) -> Iterator[int]:
        """Yields the place that each choice which holds for the word gives."""
        for which, own, ends in self._choices:
            found = [place for place in places if own.contains(text[place])] if own else places
            if found and (not ends or ends.hold(text, len(text) - 1, len(text) - 1)):
                index = min(which, len(found)) - 1 if which > 0 else max(which + len(found), 0)
                yield found[index]


def _holds(side: _Side, text: str, place: int, step: int) -> bool:
    for letters, has, _, is_run in side:
        if is_run:
            left = _LONGEST_RUN
            while left and (text[place] in letters) is has:
                place += step
                left -= 1
        elif (text[place] in letters) is has:
            place += step
        else:
            return False
    return True
