"""The Unicode data of the native library, from Python's own.

Two files in `runtime_native/text`, each a raw deflate stream of little-endian numbers. `letters.bin` has for
each 256 code points the uint16 number of their page; then the pages, a uint16 of flags for each code point
(`_FLAGS`, the first one lowest), after their number, uint32; then `_LETTERS`. `names.bin` has `_NAMES`. Of
each of these mappings there are the number of its code points, uint32; the code points, uint32, each less the
one before; their texts' lengths in bytes, uint16; and the texts in UTF-8.

    python -m exporter.native.unicode_tables
"""

from __future__ import annotations

import re
import struct
import unicodedata
import zlib
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from runtime_min.text.english import _BASE, _base
from runtime_min.text.letter_to_sound import _latin

FOLDER = Path(__file__).parents[2] / "runtime_native/text"
_LAST, _PAGE = 0x110000, 256
_SURROGATES = range(0xD800, 0xE000)
_PICTURES = re.compile("[\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u2bff\U0001f000-\U0001faff]")
_FLAGS: tuple[Callable[[str], bool], ...] = (
    str.isalpha,
    str.isdecimal,
    str.isdigit,
    str.isnumeric,
    str.isspace,
    str.isupper,
    str.islower,
    lambda letter: unicodedata.category(letter) == "Lt",
    lambda letter: unicodedata.category(letter)[0] in "SN",
    lambda letter: unicodedata.category(letter) in ("Mn", "Me", "Cf"),
    # A capital sigma after it is the last letter of a word; and one after it and a letter.
    lambda letter: f"{letter}Σ".lower()[-1] == "ς",
    lambda letter: f"a{letter}Σ".lower()[-1] == "ς",
)


def _ascii(letter: str) -> str:
    """Returns the ASCII characters in the compatibility decomposition."""
    return "".join(filter(str.isascii, unicodedata.normalize("NFKD", letter)))


def _latin_base(letter: str) -> str:
    """Returns what `English` reads a Latin letter as, where that is not its decomposition."""
    decomposed = unicodedata.normalize("NFKD", letter.translate(_BASE))
    base = "".join(each if each.isascii() else _base(each) for each in decomposed)
    return "" if base == _ascii(letter) else base


def _letter_name(letter: str) -> str:
    """Returns the name of a letter without a Latin one in it; not "letter", nor that of a Korean syllable."""
    if not letter.isalpha() or re.search("[A-Za-z]", _ascii(letter)) or "가" <= letter <= "힣":
        return ""
    name = _latin(letter)
    return "" if name == "letter" else name


def _sign_name(letter: str) -> str:
    """Returns the name of what is spoken by its name: numbers, signs and pictures."""
    shown = unicodedata.category(letter)[0] in "SN" or _PICTURES.match(letter)
    return unicodedata.name(letter, "").lower().replace("-", " ") if shown else ""


def _composition(letter: str) -> str:
    """Returns the two characters that the canonical composition joins to this one."""
    parts = unicodedata.decomposition(letter).split()
    if len(parts) != 2 or parts[0].startswith("<") or unicodedata.normalize("NFC", letter) != letter:
        return ""
    return "".join(chr(int(part, 16)) for part in parts)


def _number(letter: str) -> str:
    value = unicodedata.numeric(letter, None)
    return "" if value is None else str(int(value))


_LETTERS: tuple[Callable[[str], str], ...] = (
    str.lower,
    str.upper,
    lambda letter: "" if letter.title() == letter.upper() else letter.title(),
    str.casefold,
    lambda letter: unicodedata.normalize("NFD", letter) if not "가" <= letter <= "힣" else letter,
    _composition,
    lambda letter: chr(unicodedata.combining(letter)),
    _number,
    _ascii,
    _latin_base,
)
_NAMES = (_letter_name, _sign_name)


def tables() -> dict[str, bytes]:
    """Returns the contents of the files, by name, for the version of Unicode that this Python knows."""
    flags = [sum(test(chr(code)) << bit for bit, test in enumerate(_FLAGS)) for code in range(_LAST)]
    numbers: dict[bytes, int] = {}
    index = [
        numbers.setdefault(struct.pack(f"<{_PAGE}H", *flags[start : start + _PAGE]), len(numbers))
        for start in range(0, _LAST, _PAGE)
    ]
    pages = [struct.pack(f"<{len(index)}HI", *index, len(numbers)), *numbers]
    return {
        "letters.bin": _deflated([*pages, *map(_mapping_table, _LETTERS)]),
        "names.bin": _deflated(map(_mapping_table, _NAMES)),
    }


def _deflated(parts: Iterable[bytes]) -> bytes:
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return packer.compress(b"".join(parts)) + packer.flush()


def _mapping_table(mapping: Callable[[str], str]) -> bytes:
    texts = ((code, mapping(chr(code))) for code in range(_LAST) if code not in _SURROGATES)
    known = {code: text.encode() for code, text in texts if text not in ("", "\0", chr(code))}
    gaps = [code - before for before, code in pairwise([0, *known])]
    lengths = [len(text) for text in known.values()]
    return b"".join(
        (
            struct.pack(f"<I{len(known)}I", len(known), *gaps),
            struct.pack(f"<{len(known)}H", *lengths),
            *known.values(),
        )
    )


if __name__ == "__main__":
    for name, content in tables().items():
        (FOLDER / name).write_bytes(content)
