"""Numbers in digits with a decimal comma, in the words of any language."""

from __future__ import annotations

from collections.abc import Callable

_MOST_DIGITS = 12


def number_in_words(written: str, cardinal: Callable[[int], str], comma: str) -> str:
    """Returns a number in words; digit by digit where it is long or begins with a zero.

    Args:
        written: digits, with full stops between thousands and with or without a comma.
        cardinal: returns a number of at most 12 digits in words.
        comma: name of the comma.
    """
    whole, _, decimals = written.replace(".", "").partition(",")
    if len(whole) > _MOST_DIGITS or (len(whole) > 1 and whole[0] == "0"):
        words = " ".join(cardinal(int(digit)) for digit in whole)
    else:
        words = cardinal(int(whole))
    if not decimals:
        return words
    zeros = len(decimals) - len(decimals.lstrip("0"))
    rest = decimals[zeros:]
    spoken = [
        *[cardinal(0)] * zeros,
        *([cardinal(int(rest))] if 0 < len(rest) <= 3 else map(cardinal, map(int, rest))),
    ]
    return f"{words} {comma} {' '.join(spoken)}"
