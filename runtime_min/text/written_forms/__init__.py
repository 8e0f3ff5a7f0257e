"""Numbers and other written forms of English, as the words that are said for them.

>>> [tuple(form) for form in find_written_forms("It cost $4.50 in 1905.", british=False)]
[(8, 13, 'four dollars and fifty cents'), (17, 21, 'nineteen oh five')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import NamedTuple

from ...speech.abbreviations import BEFORE_NAMES, FIRST_WORDS
from . import amounts, dates_and_times, electronic, science, words
from .tables import CURRENCIES

Speak = Callable[["re.Match[str]", bool], "str | None"]


class WrittenForm(NamedTuple):
    """A part of a text, and what is said for it."""

    start: int
    end: int
    spoken: str
    """Words with single spaces between; a single capital letter is the name of the letter."""


_SENTENCE_MARKS = ".,:;!?"
_NEXT = re.compile(r"[\"”’)\]]{0,3}(?:\s*(?:\Z|\n)|\s+[\"“‘(\[]?(?P<word>[A-Za-z]{1,20}))")
_TELEPHONE = (
    r"(?<![\w.,/-])(?<!\d )(?:(?:\+\d{1,3}|1)[ .-]?)?(?:\(\d{3}\)[ .-]?|\d{3}[.-]|[2-9]\d\d )\d{3}[ .-]\d{4}"
    r"(?:-\d{1,4})?"
    r"(?![\w-]|\.\d)"
    r"|(?<= ending in )\d{4}(?![\w.,-])|(?<=[Cc]all )(?:911|999|112|411|311)(?![\w.,-])"
    r"|(?<![\w.,/-])(?:\+?1-)?800-[A-Z0-9]{1,7}(?:-[A-Z0-9]{1,7}){0,3}(?!\w)"
    r"|(?<![\w.,/-])\d{3}-\d{2}-\d{4}(?![\w-])|(?<![\w.,/-])0\d{2,4}[ -]\d{3,4}[ -]\d{3,4}(?![\w-])"
    r"|(?<![\w.,/-])\d{1,7}(?:-\d{1,7}){3,6}(?![\w-])|(?<![\w.,/-])\+\d{1,3}(?: \d{2,4}){2,4}(?![\w-])"
    r"|(?<![\w.,/-])\+\d{1,3} ?\(0\) ?\d{1,5}(?:[ /-]?\d{2,8}){1,4}(?![\w-])"
)
_DIGIT = "0"
"""Stands for any digit."""
_FORMS: list[tuple[Collection[str], str, Speak]] = [
    ("/(+#;W", words.SAID, words.said),
    ("&", words.INITIALS, words.initials),
    (".:@", electronic.ADDRESS, electronic.address),
    ("./\\", electronic.PATH, electronic.path),
    (_DIGIT, _TELEPHONE, amounts.digit_groups),
    (_DIGIT, words.HOUSE, words.house),
    (",", words.STATE, words.state),
    (_DIGIT, words.NUMBERED, words.numbered),
    (_DIGIT + science.LOW_DIGITS, science.FORMULA, science.formula),
    (_DIGIT, science.SCIENTIFIC, science.scientific),
    (_DIGIT, dates_and_times.TIMESTAMP, dates_and_times.timestamp),
    (_DIGIT, dates_and_times.DURATION, dates_and_times.duration),
    ("-–", dates_and_times.DAYS, dates_and_times.days),
    (_DIGIT, dates_and_times.DECADES, dates_and_times.decades),
    (_DIGIT, dates_and_times.DAY_MONTH, dates_and_times.day_month),
    (_DIGIT, dates_and_times.MONTH_DAY, dates_and_times.month_day),
    (_DIGIT, dates_and_times.MONTH_YEAR, dates_and_times.month_year),
    (".", dates_and_times.MONTH_ALONE, dates_and_times.month_alone),
    (_DIGIT, dates_and_times.NUMERIC, dates_and_times.numeric),
    (_DIGIT, dates_and_times.QUARTER, dates_and_times.quarter),
    (_DIGIT, dates_and_times.ERA, dates_and_times.era),
    (_DIGIT, dates_and_times.CLOCK, dates_and_times.clock),
    (_DIGIT, dates_and_times.HOUR, dates_and_times.clock),
    (_DIGIT, electronic.VERSION, electronic.version),
    (CURRENCIES, amounts.MONEY, amounts.money),
    (_DIGIT, amounts.MONEY_AFTER, amounts.coded_money),
    (_DIGIT, amounts.CODED, amounts.coded_money),
    (_DIGIT, dates_and_times.DECADE, dates_and_times.decade),
    (_DIGIT, dates_and_times.YEAR_PLURAL, dates_and_times.year_plural),
    ("°", amounts.ANGLE, amounts.angle),
    (_DIGIT, amounts.FEET, amounts.feet),
    ("/⁄", amounts.MIXED_MEASURE, amounts.mixed),
    ("KMB", amounts.COUNT, amounts.count),
    (_DIGIT, amounts.MEASURE, amounts.measure),
    ("/", amounts.PER, amounts.per),
    (_DIGIT, amounts.INCHES, amounts.inches),
    (_DIGIT, amounts.YEARS, amounts.years),
    ("/", amounts.OUT_OF, amounts.out_of),
    ("/⁄", amounts.FRACTION, amounts.mixed),
    (amounts.VULGAR_FRACTIONS, amounts.VULGAR, amounts.vulgar),
    (_DIGIT, words.ORDINAL, words.ordinal_number),
    (_DIGIT, amounts.RANGE, amounts.number_range),
    (_DIGIT, amounts.RATIO, amounts.ratio),
    (_DIGIT, amounts.BY, amounts.by),
    ("=≤≥≠≈×÷±-−<>+*", words.MATH, words.math),
    ("^" + science.HIGH_DIGITS, science.POWER, science.power),
    (_DIGIT, words.PLAIN, words.plain),
    (_DIGIT, words.INNER, words.inner),
    ("IVXLCDM", words.ROMAN_AFTER_WORD, words.roman_after_word),
    ("IVX", words.ROMAN_AFTER_NAME, words.roman_after_name),
    (".M", words.TITLE, words.title),
    ("./", words.ABBREVIATION, words.abbreviation),
    (".", words.STREET, words.street),
    (words.SIGNS, words.SIGN, words.sign),
    (science.GREEK, science.LETTER, science.letter),
    ("", words.EMOJI, words.emoji),
]
"""All forms, the first that fits before the others: the characters of which a text with the form has one
at least (none: any text may have it), the pattern, and what is said."""


def find_written_forms(text: str, british: bool) -> list[WrittenForm]:
    """Returns the parts of a text that are not said as they are spelled, in order, without overlaps.

    Args:
        text: English text.
        british: say dates as the British do.
    """
    forms: list[WrittenForm] = []
    gaps = [(0, len(text))]
    present = {_DIGIT if character.isdecimal() else character for character in set(text)}
    for needed, pattern, speak in _FORMS:
        if needed and present.isdisjoint(needed):
            continue
        rest = []
        for position, end in gaps:
            for form in _found(pattern, speak, text, position, end, british):
                forms.append(form)
                rest.append((position, form.start))
                position = form.end
            rest.append((position, end))
        gaps = [(start, end) for start, end in rest if end - start > 1 or text[start:end].strip()]
    return sorted(forms)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiling all of them takes longer than most texts, which need few.
    return re.compile(pattern)


def _found(
    pattern: str, speak: Speak, text: str, start: int, end: int, british: bool
) -> Iterator[WrittenForm]:
    for found in _compiled(pattern).finditer(text, start, end):
        spoken = speak(found, british)
        if spoken:
            written = found[0].rstrip(_SENTENCE_MARKS) if pattern is electronic.ADDRESS else found[0].rstrip()
            if (
                written.endswith(".")
                and written[:-1] not in BEFORE_NAMES
                and _ends_sentence(text, found.start() + len(written))
            ):
                written = written[:-1]
            first = found.start() + len(written) - len(written.lstrip())
            yield WrittenForm(first, found.start() + len(written), spoken)


def _ends_sentence(text: str, end: int) -> bool:
    """Returns whether the full stop of an abbreviation that ends at `end` ends the sentence too."""
    following = _NEXT.match(text, end)
    return following is not None and (following["word"] is None or following["word"] in FIRST_WORDS)
