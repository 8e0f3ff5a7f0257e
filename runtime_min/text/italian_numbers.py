"""Italian numbers, dates, times, signs and abbreviations in words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .decimal_comma import number_in_words

_BELOW_20 = (
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
    "sedici diciassette diciotto diciannove"
).split()
_TENS = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta".split()
_ORDINALS = "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo".split()
_MONTHS = (
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
).split()
_NAMES = (
    "a bi ci di e effe gi acca i i_lunga cappa elle emme enne o pi cu erre esse ti u vu doppia_vu ics "
    "ipsilon zeta"
)
_LETTERS = dict(zip("abcdefghijklmnopqrstuvwxyz", _NAMES.split(), strict=True))
_COMMA = "virgola"
_CURRENCIES = {"€": "euro", "$": "dollari", "£": "sterline"}
_SIGNS = _CURRENCIES | {
    "%": "per cento", "&": "e", "+": "più", "=": "uguale", "@": "chiocciola", "#": "cancelletto",
    "×": "per", "/": "barra", ".": "punto", "°": "gradi", "º": "o", "ª": "a", "−": "meno", "±": "più o meno",
    "²": "quadrato", "³": "cubo",
}  # fmt: skip
ABBREVIATIONS = {
    "sig": "signor", "sigg": "signori", "sig.ra": "signora", "dott": "dottor", "dott.ssa": "dottoressa",
    "dr": "dottor", "prof": "professor", "prof.ssa": "professoressa", "avv": "avvocato", "ing": "ingegner",
    "on": "onorevole", "pag": "pagina", "pagg": "pagine", "art": "articolo", "artt": "articoli",
    "cap": "capitolo", "fig": "figura", "vol": "volume", "tel": "telefono", "es": "esempio", "n": "numero",
    "nr": "numero", "ca": "circa", "a.c": "avanti cristo", "d.c": "dopo cristo", "s.p.a": "esse pi a",
    "s.r.l": "esse erre elle", "p.es": "per esempio",
}  # fmt: skip
"""Words by abbreviations, without the last full stop."""
_UNITS = {
    "km": "chilometri", "kg": "chili", "cm": "centimetri", "mm": "millimetri", "mq": "metri quadrati",
    "m²": "metri quadrati", "m³": "metri cubi", "km²": "chilometri quadrati", "km³": "chilometri cubi",
    "cm²": "centimetri quadrati", "cm³": "centimetri cubi", "km/h": "chilometri all'ora",
    "m/s": "metri al secondo", "°c": "gradi", "°f": "gradi fahrenheit", "ecc": "eccetera",
}  # fmt: skip
_DATE = re.compile(r"(?P<day>\d{1,2})[/.](?P<month>\d{1,2})[/.](?P<year>\d{4})|(\d{4})-(\d\d)-(\d\d)")
_TIME = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
_MONEY = re.compile(r"([€$£])?(\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d\d))?([€$£])?")
_ORDINAL = re.compile(r"(\d{1,6})([°ºª])")
_MINUS = re.compile(r"-(?=[€$£]?\d)")
_ROMAN = re.compile(r"(?=[IVX]{2})(X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"": 0, "I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}
_PARTS = re.compile(
    r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?|°[cf]|[ck]?m[²³]|k?m/[hs]|[^\W\d_²³]+(?:'[^\W\d_²³]+)*'?|\S"
)


@lru_cache(maxsize=4096)
def in_letters(written: str) -> str:
    """Returns the text between two spaces as words of lower-case letters, separated by spaces.

    Numbers, dates, times and signs become words, and letters without a vowel their names. A word keeps the
    apostrophes within it. Nothing remains of a sign that has no name, and of letters of another script.
    """
    if found := _ROMAN.fullmatch(written):
        return ordinal(10 * len(found[1]) + _ROMAN_DIGITS[found[2]])
    text = unicodedata.normalize("NFC", written.lower()).replace("’", "'")
    if _MINUS.match(text):
        return f"{_SIGNS['−']} {in_letters(written[1:])}"
    if text.rstrip(".") in ABBREVIATIONS and (text[-1] == "." or "." in text):
        return ABBREVIATIONS[text.rstrip(".")]
    if text in _UNITS:
        return _UNITS[text]
    known = _date(text) or _time(text) or _money(text) or _ordinal(text)
    return known or " ".join(filter(None, map(_part, _PARTS.findall(text)))).replace("' ", "'")


def cardinal(number: int) -> str:
    """Returns a number below a million millions in words, with hundreds and thousands apart."""
    if number < 20:
        return _BELOW_20[number]
    if number < 100:
        tens, ones = _TENS[number // 10 - 2], number % 10
        if not ones:
            return tens
        return (tens[:-1] if ones in (1, 8) else tens) + ("tré" if ones == 3 else _BELOW_20[ones])
    if number < 1_000:
        hundreds = ("" if number < 200 else _BELOW_20[number // 100]) + "cento"
        return _joined(hundreds, number % 100)
    if number < 1_000_000:
        thousands = number // 1_000
        return _joined("mille" if thousands == 1 else f"{cardinal(thousands)} mila", number % 1_000)
    for value, one, many in ((10**9, "un miliardo", "miliardi"), (10**6, "un milione", "milioni")):
        if number >= value:
            count = number // value
            return _joined(one if count == 1 else f"{cardinal(count)} {many}", number % value)
    raise AssertionError


def ordinal(number: int) -> str:
    """Returns a number's ordinal, of the masculine."""
    if number <= 10:
        return _ORDINALS[number - 1] if number else "zeresimo"
    *before, last = cardinal(number).split()
    if last == "mila":
        last = "mille"
    stem = last.replace("é", "e") if last.endswith(("tré", "sei")) else last[:-1]
    return " ".join([*before, f"{stem}esimo"])


def _joined(head: str, rest: int) -> str:
    return f"{head} {cardinal(rest)}" if rest else head


def _date(text: str) -> str:
    found = _DATE.fullmatch(text)
    if not found:
        return ""
    day, month, year = map(int, found.group(1, 2, 3) if found["day"] else found.group(6, 5, 4))
    if not (0 < day <= 31 and 0 < month <= 12):
        return ""
    return f"{_day(day)} {_MONTHS[month - 1]} {cardinal(year)}"


def _day(day: int) -> str:
    return "primo" if day == 1 else cardinal(day)


def _time(text: str) -> str:
    found = _TIME.fullmatch(text)
    if not found:
        return ""
    hours, minutes = int(found[1]), int(found[2])
    return cardinal(hours) + (f" e {cardinal(minutes)}" if minutes else "")


def _money(text: str) -> str:
    found = _MONEY.fullmatch(text)
    if not found or bool(found[1]) == bool(found[4]):
        return ""
    amount = number_in_words(found[2], cardinal, _COMMA)
    cents = int(found[3] or 0)
    return f"{amount} {_CURRENCIES[found[1] or found[4]]}" + (f" e {cardinal(cents)}" if cents else "")


def _ordinal(text: str) -> str:
    found = _ORDINAL.fullmatch(text)
    if not found:
        return ""
    masculine = ordinal(int(found[1]))
    return masculine[:-1] + "a" if found[2] == "ª" else masculine


def _part(part: str) -> str:
    if part[0].isdecimal():
        return number_in_words(part, cardinal, _COMMA)
    if part in _UNITS:
        return _UNITS[part]
    if not part[0].isalpha():
        return _SIGNS.get(part, "")
    letters = "".join(_latin(letter) for letter in part)
    if letters in "aeioèé" or (len(letters) > 1 and re.search("[aeiouàèéìòóùy']", letters)):
        return letters
    return " ".join(_LETTERS.get(letter, "") for letter in letters).replace("_", " ").strip()


def _latin(letter: str) -> str:
    """Returns a letter of Italian; of other letters the one below their accents, if it is Latin."""
    if letter in _LETTERS or letter in "àèéìòóù'":
        return letter
    return {"í": "ì", "ú": "ù", "á": "à"}.get(letter) or "".join(
        each for each in unicodedata.normalize("NFKD", letter) if each in _LETTERS
    )
