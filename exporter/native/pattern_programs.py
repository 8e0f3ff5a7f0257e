"""Compiles patterns of Python's `re` to programs for `runtime_native/base/pattern.cpp`.

Python's own parser reads the expressions. A construct for which the matcher has no step is an error here,
so the library has no parser of expressions.

A program is a list of numbers, each in groups of seven bits with the lowest first, as in LEB128: the number
of groups and the name of each (its length and characters); the number of sets and each set; the number of
steps and each step. A set has 1 if it is negated, the number of categories and their letters ("w", "W",
"d", "D", "s", "S"), and the number of ranges, each as its distance from the end of the one before and its
length. A step has its kind plus 32 times the number of operands, and the operands. 0 stands for a
repetition without a greatest number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any

from exporter.errors import ExportError

# Modules of Python's own that have no types.
_parser, _casefix, regex = (import_module(f"re.{name}") for name in ("_parser", "_casefix", "_constants"))
_lower: Callable[[int], int] = import_module("_sre").unicode_tolower

_UNBOUNDED = 0
_MOST_GROUPS = 15
"""The groups for which a match of the library has room."""
_KNOWN_FLAGS = re.UNICODE | re.IGNORECASE | re.DOTALL | re.VERBOSE
_CATEGORIES = {
    regex.CATEGORY_WORD: "w", regex.CATEGORY_NOT_WORD: "W", regex.CATEGORY_DIGIT: "d",
    regex.CATEGORY_NOT_DIGIT: "D", regex.CATEGORY_SPACE: "s", regex.CATEGORY_NOT_SPACE: "S",
}  # fmt: skip


class UnknownPatternError(ExportError):
    """A pattern has a construct that the C library's matcher does not know."""

    def __init__(self, pattern: str, construct: object) -> None:
        super().__init__(
            f"The C library cannot match {construct} in the pattern {pattern!r}: write the pattern without "
            "it, or add a step to exporter/native/pattern_programs.py and runtime_native/base/pattern.cpp."
        )


class _Kind(IntEnum):
    """The steps of a program, with the numbers of `Step::Kind` in `pattern.h`."""

    LETTER = 0
    SET = 1
    REPEAT = 2
    LAZY_REPEAT = 3
    SPLIT = 4
    JUMP = 5
    SAVE = 6
    BEGIN = 7
    END_OR_LINE_FEED = 8
    END = 9
    BOUNDARY = 10
    SAME = 11
    SAME_IGNORING_CASE = 12
    AHEAD = 13
    NOT_AHEAD = 14
    BEHIND = 15
    NOT_BEHIND = 16
    MATCH = 17


_PLACES = {
    regex.AT_BEGINNING: _Kind.BEGIN, regex.AT_BEGINNING_STRING: _Kind.BEGIN,
    regex.AT_BOUNDARY: _Kind.BOUNDARY, regex.AT_END: _Kind.END_OR_LINE_FEED, regex.AT_END_STRING: _Kind.END,
}  # fmt: skip
_ONE_LETTER = (regex.LITERAL, regex.NOT_LITERAL, regex.ANY, regex.IN)


def compile_pattern(pattern: re.Pattern[str]) -> bytes:
    """Returns the program of a pattern.

    Raises:
        UnknownPatternError: the matcher has no step for a construct.
    """
    if pattern.flags & ~_KNOWN_FLAGS:
        raise UnknownPatternError(pattern.pattern, re.RegexFlag(pattern.flags & ~_KNOWN_FLAGS))
    if pattern.groups > _MOST_GROUPS:
        raise UnknownPatternError(pattern.pattern, f"more than {_MOST_GROUPS} groups")
    made = _Program(pattern.pattern)
    made.add(_parser.parse(pattern.pattern, pattern.flags), pattern.flags)
    made.step(_Kind.MATCH)
    names = {number: name for name, number in pattern.groupindex.items()}
    numbers = [pattern.groups]
    for group in range(1, pattern.groups + 1):
        numbers += _counted(map(ord, names.get(group, "")))
    numbers.append(len(made.sets))
    for each in made.sets:
        numbers += each
    numbers.append(len(made.steps))
    for kind, *operands in made.steps:
        numbers += [kind + 32 * len(operands), *operands]
    return b"".join(map(_encoded, numbers))


class _Program:
    """The sets and steps of a pattern, as they are found."""

    def __init__(self, pattern: str) -> None:
        self.sets: dict[tuple[int, ...], int] = {}
        self.steps: list[list[int]] = []
        self._pattern = pattern

    def step(self, kind: _Kind, *operands: int) -> list[int]:
        """Adds a step and returns it."""
        self.steps.append([kind, *operands])
        return self.steps[-1]

    def add(self, parsed: Iterable[tuple[Any, Any]], flags: int) -> None:
        """Adds the steps of what Python's parser has read."""
        for operator, value in parsed:
            if operator in _ONE_LETTER:
                self._letter(operator, value, flags)
            elif operator is regex.AT and value in _PLACES:
                self.step(_PLACES[value])
            elif operator is regex.BRANCH:
                self._choice(value[1], flags)
            elif operator is regex.SUBPATTERN:
                self._group(value, flags)
            elif operator in (regex.MAX_REPEAT, regex.MIN_REPEAT):
                self._repeat(value, flags, lazy=operator is regex.MIN_REPEAT)
            elif operator in (regex.ASSERT, regex.ASSERT_NOT):
                self._look(value, flags, negated=operator is regex.ASSERT_NOT)
            elif operator is regex.GROUPREF:
                ignoring = flags & re.IGNORECASE
                self.step(_Kind.SAME_IGNORING_CASE if ignoring else _Kind.SAME, value)
            else:
                raise UnknownPatternError(self._pattern, f"{operator} {value}")

    def _letter(self, operator: Any, value: Any, flags: int) -> None:
        """Adds a step that reads one letter."""
        if operator is regex.LITERAL and len(_letters([value], flags)) == 1:
            self.step(_Kind.LETTER, value)
        else:
            self.step(_Kind.SET, self._set_number(operator, value, flags))

    def _set_number(self, operator: Any, value: Any, flags: int) -> int:
        """Returns the number of the set of letters that fit."""
        if operator is regex.ANY:
            value = [(regex.NEGATE, None)] + ([] if flags & re.DOTALL else [(regex.LITERAL, ord("\n"))])
        elif operator is regex.LITERAL:
            value = [(regex.LITERAL, value)]
        elif operator is regex.NOT_LITERAL:
            value = [(regex.NEGATE, None), (regex.LITERAL, value)]
        made = self._set(value, flags)
        return self.sets.setdefault(made, len(self.sets))

    def _set(self, items: Sequence[tuple[Any, Any]], flags: int) -> tuple[int, ...]:
        """Returns the numbers of a set."""
        letters: set[int] = set()
        categories: list[int] = []
        for operator, value in items:
            if operator is regex.LITERAL:
                letters |= _letters([value], flags)
            elif operator is regex.RANGE:
                letters |= _letters(range(value[0], value[1] + 1), flags)
            elif operator is regex.CATEGORY and value in _CATEGORIES:
                categories.append(ord(_CATEGORIES[value]))
            elif operator is not regex.NEGATE:
                raise UnknownPatternError(self._pattern, f"{operator} {value}")
        negated = int(items[0][0] is regex.NEGATE)
        ranges = list(_ranges(letters))
        gaps = [part for pair in ranges for part in pair]
        return (negated, *_counted(categories), len(ranges), *gaps)

    def _group(self, value: tuple[int | None, int, int, Any], flags: int) -> None:
        number, added, removed, parsed = value
        if (added | removed) & ~_KNOWN_FLAGS:
            raise UnknownPatternError(self._pattern, re.RegexFlag(added | removed))
        flags = (flags | added) & ~removed
        if number is not None:
            self.step(_Kind.SAVE, 2 * number)
        self.add(parsed, flags)
        if number is not None:
            self.step(_Kind.SAVE, 2 * number + 1)

    def _choice(self, alternatives: Sequence[Any], flags: int) -> None:
        jumps = []
        for parsed in alternatives[:-1]:
            split = self.step(_Kind.SPLIT, len(self.steps) + 1, 0)
            self.add(parsed, flags)
            jumps.append(self.step(_Kind.JUMP, 0))
            split[2] = len(self.steps)
        self.add(alternatives[-1], flags)
        for jump in jumps:
            jump[1] = len(self.steps)

    def _repeat(self, value: tuple[int, Any, Any], flags: int, lazy: bool) -> None:
        least, most, parsed = value
        unbounded = most is regex.MAXREPEAT
        if len(parsed) == 1 and parsed[0][0] in _ONE_LETTER:
            operator, letters = parsed[0]
            number = self._set_number(operator, letters, flags)
            kind = _Kind.LAZY_REPEAT if lazy else _Kind.REPEAT
            self.step(kind, number, least, _UNBOUNDED if unbounded else most)
            return
        # Python ends a repetition that matches nothing; a program would have no end.
        if parsed.getwidth()[0] == 0 and (unbounded or most > 1):
            raise UnknownPatternError(self._pattern, "the repetition of what may be empty")
        for _ in range(least):
            self.add(parsed, flags)
        start, splits = len(self.steps), []
        for _ in range(1 if unbounded else most - least):
            splits.append(self.step(_Kind.SPLIT, len(self.steps) + 1, 0))
            self.add(parsed, flags)
        if unbounded:
            self.step(_Kind.JUMP, start)
        for split in splits:
            split[2] = len(self.steps)
            if lazy:
                split[1:] = reversed(split[1:])

    def _look(self, value: tuple[int, Any], flags: int, negated: bool) -> None:
        """Adds a look ahead or behind: the step after it, the width behind, and flags of its steps."""
        direction, parsed = value
        if direction > 0:
            kind, width = _Kind.NOT_AHEAD if negated else _Kind.AHEAD, 0
        else:
            kind, width = _Kind.NOT_BEHIND if negated else _Kind.BEHIND, parsed.getwidth()[0]
        look = self.step(kind, 0, width, 0)
        start = len(self.steps)
        self.add(parsed, flags)
        kinds = [step[0] for step in self.steps[start:]]
        one_letter = len(kinds) == 1 and kinds[0] in (_Kind.LETTER, _Kind.SET)
        self.step(_Kind.MATCH)
        look[1], look[3] = len(self.steps), one_letter + 2 * (_Kind.SAVE in kinds)


def _letters(letters: Iterable[int], flags: int) -> set[int]:
    """Returns letters, with those that differ in case alone if the pattern ignores it."""
    if not flags & re.IGNORECASE:
        return set(letters)
    alike = set()
    for letter in map(_lower, letters):
        for each in (letter, *_casefix._EXTRA_CASES.get(letter, ())):
            alike |= _cases().get(each, {each})
    return alike


@cache
def _cases() -> dict[int, set[int]]:
    """Returns the letters that have each lower-case letter, unless it is the only one."""
    cases: dict[int, set[int]] = {}
    for letter in range(0x110000):
        if (lower := _lower(letter)) != letter:
            cases.setdefault(lower, {lower}).add(letter)
    return cases


def _ranges(letters: set[int]) -> Iterator[tuple[int, int]]:
    """Yields the distance of each run of letters from the end of the one before, and its length."""
    end = 0
    for letter in sorted(letters):
        if letter - 1 in letters:
            continue
        first = letter
        while letter + 1 in letters:
            letter += 1
        yield first - end, letter + 1 - first
        end = letter + 1


def _counted(numbers: Iterable[int]) -> list[int]:
    found = list(numbers)
    return [len(found), *found]


def _encoded(number: int) -> bytes:
    """Returns the bytes of a number, the lowest seven bits first."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
