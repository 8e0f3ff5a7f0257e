"""Spanish numbers, signs and abbreviations in words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .decimal_comma import number_in_words

_BELOW_30 = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco "
    "veintiséis veintisiete veintiocho veintinueve"
).split()
_TENS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
_HUNDREDS = (
    "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
).split()
_NAMES = (
    "a be ce de e efe ge hache i jota ka ele eme ene eñe o pe cu erre ese te u uve uve_doble equis ye zeta"
)
_LETTERS = dict(zip("abcdefghijklmnñopqrstuvwxyz", _NAMES.split(), strict=True))
_SIGNS = {
    "%": "por ciento", "&": "y", "+": "más", "=": "igual a", "@": "arroba", "€": "euros", "$": "dólares",
    "£": "libras", "°": "grados", "º": "o", "ª": "a", "#": "almohadilla", "×": "por", "/": "barra", "-": "",
    "−": "menos", "±": "más o menos", "²": "al cuadrado", "³": "al cubo",
}  # fmt: skip
ABBREVIATIONS = {"dr": "doctor", "dra": "doctora", "sr": "señor", "sra": "señora"}
"""Words by abbreviations, without the full stop."""
_UNITS = {
    "km": "kilómetros", "kg": "kilos", "cm": "centímetros", "mm": "milímetros", "m²": "metros cuadrados",
    "m³": "metros cúbicos", "km²": "kilómetros cuadrados", "km³": "kilómetros cúbicos",
    "cm²": "centímetros cuadrados", "cm³": "centímetros cúbicos", "km/h": "kilómetros por hora",
    "m/s": "metros por segundo", "°c": "grados", "°f": "grados fahrenheit",
}  # fmt: skip
_UNITS |= ABBREVIATIONS
_MINUS = re.compile(r"-(?=[€$£]?\d)")
_PARTS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?|°[cf]|[ck]?m[²³]|k?m/[hs]|[^\W\d_²³]+|\S")


@lru_cache(maxsize=4096)
def in_letters(written: str) -> str:
    """Returns the text between two spaces as words of lower-case letters, separated by spaces.

    Numbers and signs become words, and letters without a vowel their names. Nothing remains of a sign that
    has no name, and of letters of another script.
    """
    text = written.lower()
    if _MINUS.match(text):
        return f"{_SIGNS['−']} {in_letters(text[1:])}"
    return " ".join(filter(None, map(_part, _PARTS.findall(text))))


def cardinal(number: int) -> str:
    """Returns a number below a million millions in words."""
    if number < 30:
        return _BELOW_30[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 3] + (f" y {_BELOW_30[ones]}" if ones else "")
    if number == 100:
        return "cien"
    if number < 1_000:
        return _joined(_HUNDREDS[number // 100 - 1], number % 100)
    if number < 1_000_000:
        thousands = number // 1_000
        return _joined("mil" if thousands == 1 else f"{_before_noun(thousands)} mil", number % 1_000)
    millions = number // 1_000_000
    head = "un millón" if millions == 1 else f"{_before_noun(millions)} millones"
    return _joined(head, number % 1_000_000)


def _joined(head: str, rest: int) -> str:
    return f"{head} {cardinal(rest)}" if rest else head


def _before_noun(number: int) -> str:
    """Returns a number whose last word loses its ending: ``veintiún mil``."""
    words = cardinal(number)
    if words.endswith("veintiuno"):
        return words.removesuffix("uno") + "ún"
    return words.removesuffix("o") if words.endswith("uno") else words


def _part(part: str) -> str:
    if part[0].isdecimal():
        return number_in_words(part, cardinal, "coma")
    if part in _UNITS:
        return _UNITS[part]
    if not part[0].isalpha():
        return _SIGNS.get(part, "")
    letters = "".join(_latin(letter) for letter in part)
    if (re.search("[aeiouáéíóúüy]", letters) and len(letters) > 1) or letters in "aeiouy":
        return letters
    return " ".join(_LETTERS.get(letter, "") for letter in letters).replace("_", " ")


def _latin(letter: str) -> str:
    """Returns a letter of Spanish; of other letters the one below their accents, if it is Latin."""
    if letter in _LETTERS or letter in "áéíóúü":
        return letter
    return "".join(each for each in unicodedata.normalize("NFKD", letter) if each in _LETTERS)
