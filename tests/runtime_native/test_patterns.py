"""The native runtime matches patterns as Python's `re` does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from random import Random
from typing import Any

import pytest

from exporter.native.pattern_programs import UnknownPatternError, compile_pattern
from exporter.native.text_tables import _NAMES
from tests.support.fuzzing.texts import WORDS
from tests.support.native.probe import Probe, field

LETTERS = "aAbBkK\u212asSſiIıİzµμΣσςéÉß019٣½_ \n\t\u00a0.,'’[](){}-–/:$°ªאあ😀\u0301"
"""What patterns may take for each other: cases, digits, white space, marks."""
BOUNDED = ("?", "??", "{2}", "{1,3}", "{0,2}?")
SHORT = 16
"""Characters for which alternatives that overlap in a repetition are tried in a moment."""
Question = tuple["re.Pattern[str]", str]


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe("pattern_probe", tmp_path_factory.mktemp("probe"))


def compare(probe: Probe, asked: list[Question]) -> None:
    programs = {pattern: compile_pattern(pattern).hex() for pattern in {pattern for pattern, _ in asked}}
    lines = [f"{programs[pattern]} {field(text)}" for pattern, text in asked]
    for (pattern, text), answer in zip(asked, probe.ask(lines), strict=True):
        assert answer == expected(pattern, text), (pattern, text)


def expected(pattern: re.Pattern[str], text: str) -> str:
    found, place = "", 0
    # The library looks for the next match behind an empty one, without `finditer`'s second look at its place.
    while place <= len(text) and (match := pattern.search(text, place)):
        found += shown(match)
        place = match.end() + (match.end() == match.start())
    whole = pattern.fullmatch(text)
    return f"{found} |{shown(whole) if whole else ''}"


def shown(match: re.Match[str]) -> str:
    spans = (match.span(group) for group in range(match.re.groups + 1))
    return "".join(" -" if start < 0 else f" {start} {end}" for start, end in spans)


def patterns() -> list[re.Pattern[str]]:
    """Returns all patterns of the library."""
    values = [
        getattr(import_module(f"runtime_min.{module}"), name)
        for module, names in _NAMES.items()
        for name in names.split()
    ]
    forms = import_module("runtime_min.text.written_forms")._FORMS
    return [*found(values), *(re.compile(pattern) for _, pattern, _ in forms)]


def found(value: Any) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from found(each)


def test_the_patterns_of_the_library(probe: Probe) -> None:
    random, asked = Random(1), list[Question]()
    for pattern in patterns():
        own = re.findall(r"\w+|[^\w]", pattern.pattern)
        asked += ((pattern, random_text(random, own)) for _ in range(40))
        asked += ((pattern, word) for word in random.sample(WORDS, 20))
    compare(probe, asked)


def random_text(random: Random, own: list[str]) -> str:
    """Returns a text of words, letters, and parts of a pattern."""
    kinds = (WORDS, LETTERS, own, own, " ")
    return "".join(random.choice(random.choice(kinds))[:60] for _ in range(random.randint(0, 10)))


def atom(random: Random, depth: int, groups: list[str]) -> str:
    """Returns a part of a pattern that matches at least one letter."""
    kind = random.randrange(8 if depth else 3)
    if kind == 0:
        return re.escape(random.choice(LETTERS))
    if kind == 1:
        return random.choice((r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "."))
    if kind == 2:
        return letters(random)
    inner = "|".join(sequence(random, depth - 1, groups) for _ in range(random.randint(1, 3)))
    if kind == 3 and len(groups) < 9:
        groups.append(name := f"group{len(groups)}")
        return f"(?P<{name}>{inner})"
    return f"(?{random.choice(('', '', 'i', 's'))}:{inner})"


def letters(random: Random) -> str:
    inside = "".join(
        random.choice((r"\w", r"\d", r"\S", "a-k", "À-ö", "α-ω", re.escape(random.choice(LETTERS))))
        for _ in range(random.randint(1, 3))
    )
    return f"[{random.choice(('', '^'))}{inside}]"


def sequence(random: Random, depth: int, groups: list[str]) -> str:
    """Returns parts of a pattern, of which the first matches at least one letter."""
    parts = [atom(random, depth, groups)]
    for _ in range(random.randint(0, 2)):
        known = list(groups)
        part = atom(random, depth, groups)
        kind = random.randrange(9)
        if kind < 3:
            # A repetition within one without a limit takes exponential time, in Python too.
            nested = re.search(r"[*+]|,\}", part) and len(part) > 2
            part += random.choice(BOUNDED if nested else (*BOUNDED, "*", "+", "*?", "+?", "{2,}"))
        elif kind == 3:
            part = f"(?{random.choice('=!')}{part})"
        elif kind == 4:
            part = f"(?<{random.choice('=!')}{letters(random)})"
        elif kind == 5:
            part = random.choice((r"\b", "^", "$", r"\Z"))
        elif kind == 6 and known:
            part = f"(?P={random.choice(known)})"
        parts.append(part)
    return "".join(parts)


def test_generated_patterns(probe: Probe) -> None:
    random, asked = Random(2), list[Question]()
    while len(asked) < 6_000:
        written = sequence(random, 2, [])
        try:
            pattern = re.compile(written, random.choice((0, 0, re.IGNORECASE, re.DOTALL)))
        except re.error:  # A group that is still open, or one that a repetition copies.
            continue
        own = re.findall(r"\w|[^\w]", written)
        asked += ((pattern, random_text(random, own)[:SHORT]) for _ in range(4))
    compare(probe, asked)


def test_a_group_that_was_seen_ahead_is_unset_where_the_way_fails(probe: Probe) -> None:
    compare(probe, [(re.compile(r"(?:(?=(\w))\w\Z|(?=(?:(\d)|.))..)"), each) for each in ("ab", "1b", "a")])


def test_letters_without_their_case(probe: Probe) -> None:
    every = "".join(chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    written = ("k", "ſ", "i", "ß", "[a-z]", "[^a-z]", "[à-þ]", "µ", "[α-ω]", r"[^\W\d_]", "ǆ", "[𐐀-𐐧]")
    compare(probe, [(re.compile(each, re.IGNORECASE), every) for each in written])


@pytest.mark.parametrize(
    ("written", "flags", "construct"),
    [
        ("a++", 0, "POSSESSIVE_REPEAT"), ("(?>a)", 0, "ATOMIC_GROUP"),
        ("(a)?(?(1)b|c)", 0, "GROUPREF_EXISTS"),
        (r"a\B", 0, "AT_NON_BOUNDARY"), ("^a", re.MULTILINE, "MULTILINE"), (r"\w", re.ASCII, "ASCII"),
        ("(?a:b)", 0, "ASCII"), ("(a?)*", 0, "may be empty"), ("(a)" * 16, 0, "more than 15 groups"),
    ],
)  # fmt: skip
def test_an_unknown_construct_is_an_error(written: str, flags: int, construct: str) -> None:
    with pytest.raises(UnknownPatternError, match=construct):
        compile_pattern(re.compile(written, flags))
