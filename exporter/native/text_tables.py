"""The patterns and words of `runtime_min/text` for the native library: `runtime_native/text/tables.h`.

Words stand between spaces; a table has a key and its values, between tabs, a line.

    python -m exporter.native.text_tables
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "runtime_native/text/tables.h"
FORMS = FILE.parent / "written_forms/forms.inc"
_WIDTH = 100
_NAMES = {
    "speech.abbreviations": "BEFORE_NAMES BEFORE_NUMBERS AT_ENDS BEFORE_CAPITALS FIRST_WORDS",
    "speech.sentences": (
        "_MARK _NEXT _BEFORE _INITIALS _ROMAN _PLACE _GLUED _ADDRESS _NEVER_FIRST _GOES_ON _ITEM "
        "_BRACKETS _BRACKET _BLANK_LINE _CLOSING"
    ),
    "text.controls": "_CONTROL _STRESS EMOJI",
    "text.pauses": "_PAUSE _DURATION",
    "text.ssml": "_ATTRIBUTES _RATE _PHONEMES _AS_WRITTEN _RATES _STRENGTHS",
    "text.english": "_BASE _PLAIN _LONG_RUN _IRISH _CONSONANTS _ACUTE _AY _LETTERS_OR_WORD",
    "text.tokens": "_TOKEN _MARKS _PUNCTUATION _CONTRACTED",
    "text.pronunciation": "_ALPHABETIC _INITIALS _VERSUS SYMBOLS _STEMS",
    "text.stress": "_HEAVY _FIRST_VOWEL",
    "text.compounds": "_CAMEL_CASE _WORDS _BEGINNING",
    "text.written_forms": "_NEXT",
    "text.written_forms.numbers": "_ONES _TENS _SCALES _ORDINALS _SMALL _LARGE",
    "text.written_forms.tables": (
        "MONTHS CURRENCIES COUNTRIES CURRENCY_CODES SCALES PERIODS UNITS _SEVERAL STATES AMBIGUOUS_STATES "
        "STREETS BEFORE_NAMES BEFORE_NUMBERS ANYWHERE"
    ),
    "text.written_forms.amounts": "_ARTICLE _NOUN _BOOK VULGAR_FRACTIONS",
    "text.written_forms.electronic": "_NAMES _WORDS _PART _VOWEL",
    "text.written_forms.science": "_PART _BASE",
    "text.written_forms.words": "SAID_OTHERWISE _WORD _KINGS _MATH SIGNS ORDINAL _LONG_WORD _QUARTERS",
    "text.clauses": "MARKS _TOKEN",
    "text.bundled": "_CLOSED",
    "text.spanish_numbers": "_BELOW_30 _TENS _HUNDREDS _LETTERS _SIGNS ABBREVIATIONS _UNITS _PARTS",
    "text.spanish_rules": (
        "_SOUNDS _NUCLEUS _DIPHTHONGS _SYLLABIC _CLOSED_BY_N _ALLOPHONES _UNSTRESSED _WEAKLY_STRESSED"
    ),
    "text.italian_numbers": (
        "_BELOW_20 _TENS _ORDINALS _MONTHS _LETTERS _CURRENCIES _SIGNS ABBREVIATIONS _UNITS _DATE _TIME "
        "_MONEY _ORDINAL _ROMAN _PARTS"
    ),
    "text.italian_rules": (
        "_ENDINGS _NUCLEUS _VOICED_Z _SOUNDS _IRREGULAR _LENGTHENED _UNSTRESSED _WEAKLY_STRESSED"
    ),
}
"""Names by module."""


def header() -> str:
    """Returns the file's content."""
    lines = [
        "// Patterns and words of `runtime_min`, as `exporter/native/text_tables.py` writes them.",
        "#pragma once",
    ]
    for module, names in _NAMES.items():
        own = import_module(f"runtime_min.{module}")
        lines += "", f"namespace kokoro::text::tables::{module.rpartition('.')[2]} {{"
        for name in names.split():
            lines.append(f"inline constexpr char {name.lstrip('_')}[] =")
            lines += _literals(_text(getattr(own, name)))
        lines.append("}")
    return "\n".join(lines) + "\n"


def forms() -> str:
    """Returns the list of all written forms: two sets of characters, pattern and function of each."""
    lines = ["// The written forms, as `exporter/native/text_tables.py` writes them."]
    for needed, pattern, speak in import_module("runtime_min.text.written_forms")._FORMS:
        module = speak.__module__.rpartition(".")[2]
        lines.append("{")
        for place in range(2):
            lines += _literals(needed[place] if place < len(needed) else "", ",")
        lines += _literals(pattern, ",")
        lines.append(f"    {module}::{speak.__name__}}},")
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, re.Pattern):
        return ("(?s)" if value.flags & re.DOTALL else "") + str(value.pattern)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "".join(f"{line}\n" for line in map(_row, value.items()))
    if isinstance(value, list) and isinstance(value[0], tuple):
        return "".join(f"{line}\n" for line in map(_row, value))
    return " ".join(sorted(value) if isinstance(value, frozenset) else value)


def _row(row: Iterable[Any]) -> str:
    """Returns the parts of a row between tabs."""
    return "\t".join(_parts(row))


def _parts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping):
            # How `str.translate` changes vowels.
            yield "".join(map(chr, value.values()))
        elif isinstance(value, (tuple, list)):
            yield from _parts(value)
        elif isinstance(value, int):
            yield chr(value)
        elif isinstance(value, re.Pattern):
            yield _text(value)
        else:
            yield str(getattr(value, "value", value))


def _literals(text: str, end: str = ";") -> list[str]:
    """Returns a text as C++ strings, a line each."""
    lines = text.splitlines(keepends=True) or [""]
    pieces = [line[start : start + _WIDTH] for line in lines for start in range(0, len(line), _WIDTH)]
    literals = [f"    {_literal(piece)}" for piece in pieces or [""]]
    return [*literals[:-1], literals[-1] + end]


def _literal(piece: str) -> str:
    if "\\" in piece and all(map(_is_plain, piece)):
        return f'R"~({piece})~"'
    return '"' + "".join(map(_escaped, piece)) + '"'


def _is_plain(character: str) -> bool:
    return character.isprintable() and not unicodedata.combining(character)


def _escaped(character: str) -> str:
    if escape := {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(character):
        return escape
    return character if _is_plain(character) else "".join(f"\\{byte:03o}" for byte in character.encode())


if __name__ == "__main__":
    FILE.write_text(header(), "utf-8")
    FORMS.write_text(forms(), "utf-8")
