"""Chemical formulas, powers, numbers such as 6.02e23, and Greek letters."""

from __future__ import annotations

import re
import unicodedata

from .amounts import MEASURE_UNIT, NUMBER, unit_alone
from .numbers import cardinal, decimal

LOW_DIGITS = "₀₁₂₃₄₅₆₇₈₉"
HIGH_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
GREEK = "αβγδεζηθικλμνξοπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"
_PLAIN = str.maketrans(LOW_DIGITS + HIGH_DIGITS + "⁻−", "0123456789" * 2 + "--")
_ELEMENT = (
    "(?:H|He|Li|Be|B|C|N|O|F|Ne|Na|Mg|Al|Si|P|S|Cl|Ar|K|Ca|Ti|Cr|Mn|Fe|Ni|Cu|Zn|Br|Ag|Sn|I|Ba|Pt|Au|Hg|Pb|U)"
)
_COUNT = f"[0-9{LOW_DIGITS}]"
FORMULA = (
    # With one digit between two letters only these are formulas; B2B is none.
    rf"(?<![\w.-])(?![A-Z]2[A-Z](?!\w)(?<![HN]2O))(?=[A-Za-z]{{1,12}}{_COUNT})"
    rf"(?:{_ELEMENT}{_COUNT}{{0,3}}){{2,8}}(?!\w)"
    rf"|(?<![\w.-]){_ELEMENT}[{LOW_DIGITS}]{{1,3}}(?!\w)"
)
_PART = re.compile(f"[A-Za-z]|{_COUNT}+")
POWER = rf"(?P<high>⁻?[{HIGH_DIGITS}]{{1,3}}(?P<charge>[⁺⁻])?)|\^(?P<low>[-−]?\d{{1,3}})(?![\w.])"
POWER_WITH_UNIT = rf"(?<=\d)(?P<high>⁻?[{HIGH_DIGITS}]{{1,3}}) {MEASURE_UNIT}"
_BASE = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,3}\Z|[\d)]\Z")
"""Pattern of a base that an exponent may follow: a number, brackets or a short name."""
SCIENTIFIC = rf"(?<![\w.,])(?P<number>{NUMBER})[eE](?P<power>[-−+]?\d{{1,3}})(?![\w.])"
LETTER = rf"(?<![\u0370-\u03ff])[{GREEK}](?![\u0370-\u03ff])"


def formula(found: re.Match[str], british: bool) -> str:
    """Returns the letters and numbers of a chemical formula."""
    parts = _PART.findall(found[0])
    return " ".join(part.upper() if part.isalpha() else cardinal(part.translate(_PLAIN)) for part in parts)


def power(found: re.Match[str], british: bool) -> str:
    """Returns the words for an exponent, or for the high number of a charge, an isotope or a note."""
    number = (found["high"] or found["low"]).translate(_PLAIN)
    if found["charge"]:
        return f"{decimal(number[:-1])} {'plus' if found['charge'] == '⁺' else 'minus'}"
    if found["high"] and not _BASE.search(found.string, max(0, found.start() - 4), found.start()):
        return decimal(number)
    return _exponent(number)


def power_with_unit(found: re.Match[str], british: bool) -> str:
    """Returns the words for an exponent and the unit after it."""
    return f"{_exponent(found['high'].translate(_PLAIN))} {unit_alone(found)}"


def _exponent(number: str) -> str:
    return {"2": "squared", "3": "cubed"}.get(number) or f"to the power of {decimal(number)}"


def scientific(found: re.Match[str], british: bool) -> str:
    """Returns the words for a number with a power of ten."""
    return f"{decimal(found['number'])} times ten to the power of {decimal(found['power'])}"


def letter(found: re.Match[str], british: bool) -> str:
    """Returns the name of a Greek letter."""
    return unicodedata.name(found[0]).rpartition(" ")[2].lower().replace("lamda", "lambda")
