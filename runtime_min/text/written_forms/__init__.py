"""Numbers and other written forms of English, as the words that are said for them.

>>> [tuple(form) for form in find_written_forms("It cost $4.50 in 1905.", british=False)]
[(8, 13, 'four dollars and fifty cents'), (17, 21, 'nineteen oh five')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from ...speech.abbreviations import BEFORE_NAMES, FIRST_WORDS
from . import amounts, dates_and_times, electronic, science, words
from .tables import CURRENCIES, UNITS

Speak = Callable[["re.Match[str]", bool], "str | None"]


class WrittenForm(NamedTuple):
    """A part of a text, and the words for it."""

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
_SIGNS, _UNITS = "".join(CURRENCIES), "".join(sorted({unit[0] for unit in UNITS}))
_CAPITALS, _VOWELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "aeouAEOU"
_FORMS: list[tuple[tuple[str, ...], str, Speak]] = [
    (("/(+#;WNV",), words.SAID, words.said),
    (("&",), words.INITIALS, words.initials),
    ((".:@",), electronic.ADDRESS, electronic.address),
    (("./\\",), electronic.PATH, electronic.path),
    ((_DIGIT,), _TELEPHONE, amounts.digit_groups),
    ((_DIGIT, " "), words.HOUSE, words.house),
    ((",",), words.STATE, words.state),
    ((_DIGIT, ".N№§#~<>"), words.NUMBERED, words.numbered),
    ((_DIGIT + science.LOW_DIGITS, _CAPITALS), science.FORMULA, science.formula),
    ((_DIGIT, "eE"), science.SCIENTIFIC, science.scientific),
    ((_DIGIT, "T"), dates_and_times.TIMESTAMP, dates_and_times.timestamp),
    ((_DIGIT, "m"), dates_and_times.DURATION, dates_and_times.duration),
    (("-–",), dates_and_times.DAYS, dates_and_times.days),
    ((_DIGIT, "-–"), dates_and_times.DECADES, dates_and_times.decades),
    ((_DIGIT, _VOWELS), dates_and_times.DAY_MONTH, dates_and_times.day_month),
    ((_DIGIT, _VOWELS), dates_and_times.MONTH_DAY, dates_and_times.month_day),
    ((_DIGIT, _VOWELS), dates_and_times.MONTH_YEAR, dates_and_times.month_year),
    ((".",), dates_and_times.MONTH_ALONE, dates_and_times.month_alone),
    ((_DIGIT, "-/."), dates_and_times.NUMERIC, dates_and_times.numeric),
    ((_DIGIT, "Q"), dates_and_times.QUARTER, dates_and_times.quarter),
    ((_DIGIT, " "), dates_and_times.ERA, dates_and_times.era),
    ((_DIGIT, ":"), dates_and_times.CLOCK, dates_and_times.clock),
    ((_DIGIT, "mM"), dates_and_times.HOUR, dates_and_times.clock),
    ((_DIGIT, "."), electronic.VERSION, electronic.version),
    ((_SIGNS, _DIGIT), amounts.MONEY, amounts.money),
    ((_DIGIT, _SIGNS + _CAPITALS), amounts.MONEY_AFTER, amounts.coded_money),
    ((_DIGIT, _CAPITALS), amounts.CODED, amounts.coded_money),
    ((_DIGIT, "s"), dates_and_times.DECADE, dates_and_times.decade),
    ((_DIGIT, "s"), dates_and_times.YEAR_PLURAL, dates_and_times.year_plural),
    (("°", _DIGIT), amounts.ANGLE, amounts.angle),
    ((_DIGIT, "'′f"), amounts.FEET, amounts.feet),
    (("/⁄", _DIGIT), amounts.MIXED_MEASURE, amounts.mixed),
    (("KMB", _DIGIT), amounts.COUNT, amounts.count),
    ((_DIGIT, _UNITS), amounts.MEASURE, amounts.measure),
    ((science.HIGH_DIGITS, _UNITS), science.POWER_WITH_UNIT, science.power_with_unit),
    (("/", _DIGIT), amounts.PER, amounts.per),
    ((_DIGIT, '″"'), amounts.INCHES, amounts.inches),
    ((_DIGIT, "/"), amounts.YEARS, amounts.years),
    (("/", _DIGIT), amounts.OUT_OF, amounts.out_of),
    (("/⁄", _DIGIT), amounts.FRACTION, amounts.mixed),
    ((amounts.VULGAR_FRACTIONS,), amounts.VULGAR, amounts.vulgar),
    ((_DIGIT, "tdTD"), words.ORDINAL, words.ordinal_number),
    ((_DIGIT, "-–—"), amounts.RANGE, amounts.number_range),
    ((_DIGIT, ":"), amounts.RATIO, amounts.ratio),
    ((_DIGIT, "x×"), amounts.BY, amounts.by),
    (("=≤≥≠≈×÷±-−<>+*",), words.MATH, words.math),
    (("^" + science.HIGH_DIGITS,), science.POWER, science.power),
    ((_DIGIT,), words.PLAIN, words.plain),
    ((_DIGIT,), words.INNER, words.inner),
    (("IVXLCDM",), words.ROMAN_AFTER_WORD, words.roman_after_word),
    (("IVX",), words.ROMAN_AFTER_NAME, words.roman_after_name),
    ((".M",), words.TITLE, words.title),
    (("./",), words.ABBREVIATION, words.abbreviation),
    ((".",), words.STREET, words.street),
    (("".join(words.SIGNS),), words.SIGN, words.sign),
    ((science.GREEK,), science.LETTER, science.letter),
    ((), words.EMOJI, words.emoji),
]
"""All forms, the first that fits before the others: sets of characters, of each of which a text with the form
has one at least, the pattern, and what is said."""


def _forms_by_character() -> tuple[dict[str, int], int]:
    """Returns the forms that have a character in a set, and those without a set: see `_forms_in`."""
    forms: dict[str, int] = {}
    without = 0
    for number, (needed, _, _) in enumerate(_FORMS):
        for place in range(2):
            bit = 1 << number + place * len(_FORMS)
            for character in needed[place] if place < len(needed) else "":
                forms[character] = forms.get(character, 0) | bit
            without |= 0 if place < len(needed) else bit
    return forms, without


_FORMS_WITH, _FORMS_WITHOUT = _forms_by_character()
_STATES = sum(1 << number for number, form in enumerate(_FORMS) if form[1] == words.STATE)


def find_written_forms(text: str, british: bool) -> list[WrittenForm]:
    """Returns the parts of a text that are not said as they are spelled, in order, without overlaps.

    Args:
        text: English text.
        british: say dates as the British do.
    """
    forms: list[WrittenForm] = []
    # The rest of the text, and the forms that it may have, a bit each.
    gaps = [(0, len(text), _forms_in(text))]
    while gaps:
        start, end, left = gaps.pop()
        while left:
            first = left & -left
            left -= first
            _, pattern, speak = _FORMS[first.bit_length() - 1]
            found = list(_found(pattern, speak, text, start, end, british))
            if found:
                forms += found
                gaps += _between(text, start, end, found, left)
                break
    return sorted(forms)


def _between(
    text: str, start: int, end: int, forms: Iterable[WrittenForm], left: int
) -> Iterator[tuple[int, int, int]]:
    """Yields the gaps between forms with the forms that each may have among those that are `left`."""
    for form_start, form_end, _ in (*forms, (end, end, "")):
        if form_start > start:
            # A state follows the comma that may be the end of a form.
            comma = _STATES if text[start - 1 : start] == "," else 0
            if possible := left & (_forms_in(text[start:form_start]) | comma):
                yield start, form_start, possible
        start = form_end


def _forms_in(text: str) -> int:
    """Returns the forms that may be in a text, a bit each."""
    if text.isspace():
        return 0
    # Twice as many bits: the forms whose first set has a character of the text, and those whose second has.
    found = _FORMS_WITHOUT
    for character in set(text):
        found |= _FORMS_WITH.get(_DIGIT if character.isdecimal() else character, 0)
    return found & (found >> len(_FORMS))


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
            last = found.start() + len(written)
            yield WrittenForm(last - len(written.lstrip()), last, spoken)


def _ends_sentence(text: str, end: int) -> bool:
    """Returns whether the full stop of an abbreviation that ends at `end` ends the sentence too."""
    following = _NEXT.match(text, end)
    return following is not None and (following["word"] is None or following["word"] in FIRST_WORDS)
