"""Numbers as English words, as a reader says them: without "and", without hyphens.

>>> cardinal("1234"), ordinal("21"), year("1905"), decimal("3.14")
('one thousand two hundred thirty four', 'twenty first', 'nineteen oh five', 'three point one four')
"""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split(" ")
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split(" ")
_SCALES = "- thousand million billion trillion quadrillion quintillion sextillion septillion octillion".split(
    " "
)
LONGEST_CARDINAL = 3 * len(_SCALES)
"""Digits; longer numbers are said digit by digit."""
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_SMALL = frozenset((*_ONES[1:], *_TENS[2:]))
_LARGE = frozenset(("hundred", *_SCALES[1:]))
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def digits(written: str, zero: str = "zero") -> str:
    """Returns the names of the digits of `written`; other characters are left out."""
    return " ".join(_ONES[int(digit)] if digit != "0" else zero for digit in written if digit.isdecimal())


@lru_cache(4_096)
def cardinal(written: str) -> str:
    """Returns digits, with or without commas, as a cardinal number; those with zeros before it one by one."""
    plain = written.replace(",", "")
    if len(plain) > LONGEST_CARDINAL or (plain[0] == "0" and len(plain) > 1):
        return digits(plain)
    return _count(int(plain))


def _count(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f" {_ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{_ONES[number // 100]} hundred" + (f" {_count(number % 100)}" if number % 100 else "")
    scale = (len(str(number)) - 1) // 3
    high, low = divmod(number, 1000**scale)
    return f"{_count(high)} {_SCALES[scale]}" + (f" {_count(low)}" if low else "")


def with_flags(words: str, flags: str) -> str:
    """Returns the words of a number as misaki's flags change them; other characters than ASCII are phonemes.

    Args:
        words: what is said for the number.
        flags: "&" says "and" in it, "n" a short one, "a" says "a hundred" for "one hundred".
    """
    if not flags:
        return words
    parts = words.split(" ")
    spoken: list[str] = []
    for place, word in enumerate(parts):
        spoken.append(word)
        rest = list(takewhile(_SMALL.__contains__, parts[place + 1 : place + 3]))
        after = parts[place + 1 + len(rest)] if place + 1 + len(rest) < len(parts) else ""
        if rest and (word == "hundred" or (word in _LARGE and after not in _LARGE)):
            spoken += ["and"] if "&" in flags else ["ən"] if "n" in flags else []
    if "a" in flags and spoken[0] == "one" and spoken[1:2] and spoken[1] in _LARGE:
        spoken[0] = "ə"
    return " ".join(spoken)


def ordinal(written: str) -> str:
    """Returns digits as an ordinal number."""
    return as_ordinal(_count(int(written.replace(",", "")[-LONGEST_CARDINAL:])))


def as_ordinal(words: str) -> str:
    """Returns the ordinal number of a cardinal one."""
    before, space, last = words.rpartition(" ")
    if last not in _ORDINALS:
        last = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    else:
        last = _ORDINALS[last]
    return before + space + last


def year(written: str) -> str:
    """Returns four digits as a year: 1905 as "nineteen oh five", 2000 as "two thousand"."""
    number = int(written)
    high, low = divmod(number, 100)
    if high % 10 == 0 and low < 10:
        return _count(number)
    return f"{_count(high)} " + ("hundred" if not low else f"oh {_ONES[low]}" if low < 10 else _count(low))


def short_year(written: str) -> str:
    """Returns a year of one to four digits: 05 as "oh five", 340 as "three forty"."""
    if len(written) == 4:
        return year(written)
    if len(written) == 3 and written[1:] != "00":
        return f"{digits(written[0])} {short_year(written[1:])}"
    return digits(written, "oh") if written[0] == "0" else cardinal(written)


def decimal(written: str) -> str:
    """Returns a number with or without commas, a point and a sign."""
    if written[:1] in ("-", "−"):
        return f"minus {decimal(written[1:])}"
    if written[:1] == "+":
        return f"plus {decimal(written[1:])}"
    whole, point, fraction = written.partition(".")
    words = cardinal(whole) if whole else ""
    return f"{words} point {digits(fraction)}".strip() if point else words


def plural(word: str) -> str:
    """Returns the plural of the last word, a number: "sixties", "halves"."""
    if word.endswith("half"):
        return f"{word[:-1]}ves"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}es" if word.endswith("x") else f"{word}s"


@lru_cache(4_096)
def fraction(numerator: str, denominator: str) -> str:
    """Returns a fraction: "three quarters", "one half"; those of one and zero with "over"."""
    above, below = cardinal(numerator), cardinal(denominator)
    if denominator.lstrip("0") in ("", "1"):
        return f"{above} over {below}"
    part = {"2": "half", "4": "quarter"}.get(denominator) or ordinal(denominator)
    return f"{above} {part if numerator == '1' else plural(part)}"


def roman(written: str) -> int | None:
    """Returns the value of a Roman numeral in capitals, or None if it is not one."""
    total = 0
    for letter, following in zip(written, written[1:] + " ", strict=True):
        value = _ROMAN.get(letter, 0)
        total += -value if value < _ROMAN.get(following, 0) else value
    return total if total and _as_roman(total) == written else None


def _as_roman(number: int) -> str:
    written = ""
    for value, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        count, number = divmod(number, value)
        written += letters * count
    return written
