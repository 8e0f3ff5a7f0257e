"""Numbers, dates, signs, units and abbreviations of a language as words, by the data of a bundle."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from ..format.schema import Node
from .number_words import LARGEST, Numbers, roman_value
from .rewriting import FIRST_PLACE, filled, places_in, text_of

_MOST_DIGITS = 12
_POWERS = "²³"
"""Digits above the line that are signs, and no part of a word."""
KINDS = ("range", "number", "sign", "roman", "decimal", "unit", "word")
"""What a form may have in its places: a number within bounds, any whole number, a sign of money, a Roman
number, any number, a unit, which is the last, and letters, which have only letters of the form after them."""
_RANGE, _NUMBER, _MONEY, _ROMAN, _DECIMAL, _UNIT, _WORD = range(len(KINDS))
_ONE = 1
"""The numbers of a place with a sign or a unit, if it has the words for one of it and not for several."""


def texts_of(node: Node) -> dict[str, str]:
    """Returns a map of strings.

    Raises:
        ManifestError: it is something else, as for all that reads data here.
    """
    return {key: text_of(value) for key, value in node.entries()}


class _Place:
    """What a form has in one of its places."""

    def __init__(self, node: Node, sets: int) -> None:
        kind, low, high, width, numbers = node.elements(5, 5)
        self.kind = kind.integer(_RANGE, _WORD)
        self.low, self.high = low.integer(0, LARGEST), high.integer(0, LARGEST)
        self.width = width.integer(0, _MOST_DIGITS)
        """Digits that a number has, or 0 for at most as many as the highest; letters after a word."""
        most = _ONE if self.kind in (_MONEY, _UNIT) else sets if self.kind == _RANGE else sets - 1
        self.numbers = numbers.integer(0, most)
        """The set of numbers that says it; as many as there are sets if it is said digit by digit."""


_Form = tuple[str, list[_Place], str]


class WrittenWords:
    """The written forms of a language."""

    def __init__(self, node: Node) -> None:
        """Takes the data."""
        (letters, accented, respelled, vowels, alone, apostrophe, signs, money, units, measures,
         abbreviations, minus, separators, grouping, comma, together, numbers, forms) = node.fields(
            "letters", "accented", "respelled", "vowels", "alone", "apostrophe", "signs", "money", "units",
            "measures", "abbreviations", "minus", "separators", "grouping", "comma", "together", "numbers",
            "forms",
        )  # fmt: skip
        self._names, self._respelled = texts_of(letters), texts_of(respelled)
        self.apostrophe = text_of(apostrophe)
        if len(self.apostrophe) > 1:
            raise apostrophe.error("one character or none")
        self._accented = text_of(accented)
        self._known = {*self._names, *self._accented, *self.apostrophe}
        self._vowels, self._alone = text_of(vowels) + self.apostrophe, text_of(alone)
        self._money, self._one_sign = _several_and_one(money)
        self._units, one_unit = _several_and_one(units)
        self._measures, one_measure = _several_and_one(measures)
        self._one_unit = one_unit | one_measure
        self._signs = texts_of(signs) | self._money
        self.abbreviations, self._minus = texts_of(abbreviations), text_of(minus)
        self._thousands, self._decimal = (text_of(each) for each in separators.elements(2, 2))
        if len(self._thousands) not in (1, 2) or len(self._decimal) != 1:
            raise separators.error("one or two characters, and one")
        self._grouping = grouping.integer(2, 3)
        """Digits of the groups above the last three."""
        self._comma, self._together = text_of(comma), together.integer(0, _MOST_DIGITS)
        found = numbers.elements(1)
        self._numbers: list[Numbers] = []
        self._numbers += [Numbers(each, self._numbers, len(found)) for each in found]
        self._forms: dict[str, list[_Form]] = {}
        """Forms by the character with which they begin, 0 for all digits."""
        for each in forms.elements():
            self._add(self._form(each))
        self._across = {
            letter: sorted({form[0].count(" ") + 1 for form in own} - {1}, reverse=True)
            for letter, own in self._forms.items()
        }
        """Numbers of words that the forms with spaces have, by the character with which they begin."""
        self._fits = lru_cache(maxsize=4096)(self._is_form)
        # Units such as km² are longer than a run of letters.
        self._longer: dict[str, list[str]] = {}
        for unit in sorted(self._units, key=lambda unit: (-len(unit), unit)):
            if not all(map(self._is_letter, unit)):
                self._longer.setdefault(unit[:1], []).append(unit)
        self.words = lru_cache(maxsize=4096)(self._words)

    def _form(self, node: Node) -> _Form:
        pattern, places, spoken = node.elements(3, 3)
        found = [_Place(each, len(self._numbers)) for each in places.elements()]
        form = places_in(pattern, len(found)), found, places_in(spoken, len(found))
        if not form[0].strip():
            raise pattern.error("more than spaces")
        return form

    def _add(self, form: _Form) -> None:
        for letter in {*self._first(form)} - {""}:
            self._forms.setdefault(letter, []).append(form)

    def _first(self, form: _Form) -> Iterable[str]:
        """Returns the characters with which a form may begin, 0 for all digits."""
        pattern, places, _ = form
        number = ord(pattern[0]) - FIRST_PLACE
        if not 0 <= number < len(places):
            return "0" if pattern[0].isdecimal() else pattern[0]
        kind = places[number].kind
        if kind == _WORD:
            return self._known
        if kind == _UNIT:
            return [unit[:1] for unit in (*self._units, *self._measures)]
        return self._money if kind == _MONEY else "ivxlcdm" if kind == _ROMAN else "0"

    def _beginning(self, text: str) -> Sequence[_Form]:
        """Returns the forms that begin with the first character of a text, in their order."""
        return self._forms.get(_first_of(text), ())

    def counts(self, words: Sequence[str]) -> list[int]:
        """Returns how many words between spaces belong together, from the first on: a number, or a form."""
        found = [*self._grouped(words)] if " " in self._thousands else [1] * len(words)
        ends = [0, *accumulate(found)]
        joined: list[int] = []
        start = 0
        while start < len(found):
            across = self._across.get(_first_of(words[ends[start]].removeprefix("-")[:1].lower()), ())
            fitting = (
                count
                for count in across
                if start + count < len(ends)
                and self._fits(" ".join(words[ends[start] : ends[start + count]]).removeprefix("-"))
            )
            end = start + next(fitting, 1)
            joined.append(ends[end] - ends[start])
            start = end
        return joined

    def _grouped(self, words: Sequence[str]) -> Iterator[int]:
        """Yields how many words belong to one number, whose groups of three digits are between spaces."""
        start = 0
        while start < len(words):
            end = start + 1
            digits = words[start].removeprefix("-")
            goes_on = digits.isdecimal() and len(digits) <= 3 and digits[0] != "0"
            while goes_on and end < len(words) and _digits_end(words[end], 0, 4) == 3:
                goes_on = len(words[end]) == 3
                end += 1
            yield end - start
            start = end

    def _is_form(self, written: str) -> bool:
        text = _normal(written)
        return any(
            " " in form[0] and self._spoken_form(form, written, text) is not None
            for form in self._beginning(text)
        )

    def _words(self, written: str) -> tuple[str, ...]:
        """Returns the text between two spaces, or of one number or form, as words of lower-case letters.

        Numbers and signs become words, and letters without a vowel their names. Nothing remains of a sign
        that has no name, and of letters of another script.
        """
        text = _normal(written)
        digits_follow = text[1:2].isdecimal() or (text[1:2] in self._money and text[2:3].isdecimal())
        if text[:1] == "-" and (digits_follow or self._fits(written[1:])):
            return (*self._minus.split(), *self._words(written[1:]))
        known = self.abbreviations.get(text.rstrip(".")) if "." in text else None
        for form in self._beginning(text) if known is None else ():
            if (known := self._spoken_form(form, written, text)) is not None:
                break
        initials = text.rstrip(".").split(".")
        if known is None and len(initials) > 1 and all(each in self._names for each in initials):
            known = " ".join([self._names[each] for each in initials])
        if known is None:
            known = " ".join(filter(None, self._parts(text)))
            if self.apostrophe:
                known = known.replace(self.apostrophe + " ", self.apostrophe)
        return tuple(known.split())

    def _spoken_form(self, form: _Form, written: str, text: str) -> str | None:
        """Returns the words of a text that is of a form, or None."""
        pattern, places, spoken = form
        values = [""] * len(places)
        start = 0
        for letter in pattern:
            number = ord(letter) - FIRST_PLACE
            if 0 <= number < len(places):
                end, values[number] = self._value(places[number], written, text, start)
            else:
                end = start + (text[start : start + 1] == letter)
            if end == start:
                return None
            start = end
        return filled(spoken, values) if start == len(text) else None

    def _value(self, place: _Place, written: str, text: str, start: int) -> tuple[int, str]:
        """Returns where what a place has ends, and its words; the start if the text has nothing for it."""
        if place.kind == _MONEY:
            sign = text[start : start + 1]
            signs = self._one_sign if place.numbers == _ONE else self._money
            return start + (sign != "" and sign in signs), signs.get(sign, "")
        if place.kind == _UNIT:
            unit = text[start:]
            words = (
                self._one_unit.get(unit)
                if place.numbers == _ONE
                else self._measures.get(unit) or self._units.get(unit)
            )
            return (len(text), words) if words else (start, "")
        if place.kind == _WORD:
            end = max(start, len(text) - place.width)
            word = text[start:end]
            is_word = len(word) > 1 and all(
                letter in self._names or letter in self._accented for letter in word
            )
            return (end, word) if is_word else (start, "")
        if place.kind in (_NUMBER, _DECIMAL):
            whole = end = self._whole_end(text, start)
            if place.kind == _DECIMAL and end > start:
                end = self._decimals_end(text, end)
            if end == start:
                return start, ""
            return end, self._number(text[start:whole], text[whole + 1 : end], place.numbers)
        end, most = start, len(text)
        if place.kind == _RANGE:
            most = min(most, start + (place.width or len(str(place.high))))
        while end < most and (text[end] in "ivxlcdm" if place.kind == _ROMAN else text[end].isdecimal()):
            end += 1
        found = text[start:end]
        if place.kind == _ROMAN:
            value = roman_value(found)
            is_one = len(written) == len(text) and written[start:end] == found.upper() and len(found) > 1
        else:
            value = int(found or "0")
            is_one = found != "" and place.width in (0, len(found))
        if not is_one or not place.low <= value <= place.high:
            return start, ""
        if place.numbers == len(self._numbers):
            return end, " ".join([self._numbers[0].say(int(digit)) for digit in found])
        return end, self._numbers[place.numbers].say(value)

    def _parts(self, text: str) -> Iterator[str]:
        """Yields the words of each number, unit, run of letters and sign of a text."""
        start = 0
        while start < len(text):
            letter = text[start]
            unit = next((each for each in self._longer.get(letter, ()) if text.startswith(each, start)), "")
            if letter.isdecimal():
                whole = self._whole_end(text, start)
                end = self._decimals_end(text, whole)
                yield self._number(text[start:whole], text[whole + 1 : end])
            elif unit:
                end = start + len(unit)
                yield self._units[unit]
            elif self._is_letter(letter):
                end = self._word_end(text, start)
                yield self._word(text[start:end])
            else:
                end = start + 1
                yield self._signs.get(letter, "")
            start = end

    def _is_letter(self, letter: str) -> bool:
        if letter == self.apostrophe:
            return False
        return letter in self._known or (
            letter.isalnum() and not letter.isdecimal() and letter not in _POWERS
        )

    def _word_end(self, text: str, start: int) -> int:
        """Returns the end of a run of letters, with apostrophes between them and at its end."""
        end = start
        while end < len(text) and (
            self._is_letter(text[end]) or (text[end] == self.apostrophe and text[end - 1] != self.apostrophe)
        ):
            end += 1
        return end

    def _whole_end(self, text: str, start: int) -> int:
        """Returns the end of a number's digits, of which three or less may be followed by groups of them."""
        end = _digits_end(text, start)
        if 0 < end - start <= 3:
            end = self._short_groups_end(text, end)
            sign = text[end : end + 1]
            while (
                sign
                and sign in self._thousands
                and text[end : end + 1] == sign
                and _digits_end(text, end + 1, end + 5) == end + 4
            ):
                end += 4
        return end

    def _decimals_end(self, text: str, whole: int) -> int:
        """Returns the end of a number whose whole part ends at a place."""
        is_decimal = text[whole : whole + 1] == self._decimal and text[whole + 1 : whole + 2].isdecimal()
        return _digits_end(text, whole + 1) if is_decimal else whole

    def _short_groups_end(self, text: str, start: int) -> int:
        """Returns the end of groups of two digits, such as those of 12,34,567, that end with one of three."""
        end = start
        while self._grouping == 2 and text[end : end + 1] == self._thousands[0]:
            digits = _digits_end(text, end + 1, end + 4) - end - 1
            if digits != 2:
                return end if digits == 3 else start
            end += 3
        return start

    def _number(self, whole: str, decimals: str, numbers: int = 0) -> str:
        """Returns a number in words; digit by digit where it is long or begins with a zero.

        Args:
            whole: the digits before the decimal sign, with signs between thousands.
            decimals: the digits after it.
            numbers: the rules for the whole number, unless it is said digit by digit.
        """
        digits = "".join([letter for letter in whole if letter.isdecimal()])
        say = self._numbers[0].say
        if len(digits) > _MOST_DIGITS or (len(digits) > 1 and digits[0] == "0"):
            words = [say(int(digit)) for digit in digits]
        else:
            words = [self._numbers[numbers].say(int(digits))]
        if decimals:
            rest = decimals.lstrip("0")
            words += [self._comma, *[say(0)] * (len(decimals) - len(rest))]
            together = 0 < len(rest) <= self._together
            words += [say(int(part)) for part in ([rest] if together else rest)]
        return " ".join(words)

    def _word(self, part: str) -> str:
        """Returns a run of letters, or the names of letters without a vowel."""
        if part in self._units:
            return self._units[part]
        if not part[0].isalpha() and part[0] not in self._known:
            return self._signs.get(part, "")
        letters = "".join(map(self._latin, part))
        is_word = len(letters) > 1 and any(letter in self._vowels for letter in letters)
        if is_word or not letters or letters in self._alone:
            return letters
        return " ".join(self._names.get(letter, "") for letter in letters).strip()

    def _latin(self, letter: str) -> str:
        """Returns a letter of the language; of other letters the one below their accents, if it is Latin."""
        if letter in self._known:
            return letter
        return self._respelled.get(letter) or "".join(
            each for each in unicodedata.normalize("NFKD", letter) if each.isascii() and each in self._names
        )


def _several_and_one(node: Node) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the words for several of something, and those for one, after a | if they are others."""
    both = {key: words.partition("|") for key, words in texts_of(node).items()}
    several = {key: words for key, (words, _, _) in both.items()}
    return several, {key: one or words for key, (words, _, one) in both.items()}


def _first_of(text: str) -> str:
    """Returns the first character of a text, 0 for all digits."""
    return "0" if text[:1].isdecimal() else text[:1]


def _normal(written: str) -> str:
    """Returns a text in lower case, with straight apostrophes and the digits 0 to 9."""
    text = unicodedata.normalize("NFC", written.lower()).replace("’", "'")
    if text.isascii():
        return text
    return "".join([str(unicodedata.decimal(letter)) if letter.isdecimal() else letter for letter in text])


def _digits_end(text: str, start: int, most: int = sys.maxsize) -> int:
    """Returns where digits end, or the place `most` if that comes first."""
    end = start
    while end < min(most, len(text)) and text[end].isdecimal():
        end += 1
    return end
