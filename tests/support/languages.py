"""The languages of rules, as a bundle speaks them."""

from __future__ import annotations

import json
import lzma
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from exporter.text.language_files import compile_language, language_file
from runtime_min.speech.words import Word
from runtime_min.text.rules import Rules

_GOLDEN = Path(__file__).parents[1] / "runtime_min" / "text" / "data" / "rules.golden.xz"


@cache
def rules(language: str) -> Rules:
    """Returns the rules of a language."""
    return Rules(language_file(language))


def said(words: list[Word]) -> str:
    """Returns the phonemes of words, with the space between them."""
    return "".join(f"{word.phonemes}{word.whitespace}" for word in words).strip()


def letters_of(words: list[Word]) -> str:
    """Returns the text of words without white space, also without that within a number or a form."""
    return "".join("".join(word.text for word in words).split())


def spoken_numbers(language: str, written: str) -> str:
    """Returns what is said for a number."""
    return " ".join(rules(language).written.words(written))


def golden() -> Iterator[tuple[str, str, str]]:
    """Yields language, text, and the phonemes of its words, separated by ``|``, before rules were data.

    Texts with forms that are read in another way since then are left out.
    """
    for line in lzma.decompress(_GOLDEN.read_bytes()).decode().splitlines():
        language, text, phonemes = line.split("\t")
        yield language, json.loads(text), phonemes


def tiny_language() -> bytes:
    """Returns the compiled rules of `TINY`."""
    with tempfile.TemporaryDirectory() as place:
        for name, content in TINY.items():
            Path(place, name).write_text(content, "utf-8")
        return compile_language(Path(place))


TINY = {
    "sounds.txt": """\
; A language of a few letters.
[classes]
vowel = a e i o u
front = e i
[sounds: letters]
c -> ʧ / _ <front>
| c -> k
<vowel> -> <vowel> ː / _ #
[stress]
vowels <vowel>
second last / <vowel> ː #
last
[clause: before a voiced sound]
s -> z / _ ~? [bd]
[weakly stressed]
bo
[unstressed]
la
""",
    "writing.txt": """\
[writing]
minus = min
thousands = .
decimal = ,
comma = kom
digits together = 2
vowels = a e i o u
[cardinal]
0.. = nul un du tri kar kin ses sep ok nof
10 = dek[ >>]
20 = <<dek[ >>]
[numbers: month]
1.. = janu febu
[forms]
{day 1-31}/{month 1-2} = {day} {month as month}
{count 0-99} km {part 00-99} = {count} kilo e {part}
[letters]
a = a
b = be
c = ce
d = de
e = e
i = i
k = ka
l = el
n = en
o = o
r = er
s = es
t = te
u = u
[money]
€ = euro
[signs]
% = prosent
[units]
km = kilo
[abbreviations]
dr = doktor
""",
}
"""The files of a language that no bundle has."""
TINY_SPOKEN = {
    "La casa bo ce, 21!": "laː kˈasaː bˌoː ʧˈeː, dudˈek ˈun!",
    "-5% 3/2 cas bo": "mˈin kˈin prosˈent trˈiː fˈebuː kˈaz bˈoː",
    "5 km 20, -5  km 03 km": "kˈin kˈiloː ˈeː dudˈek, mˈin kˈin kˈiloː ˈeː trˈiː kˈiloː",
    "1,05 km, dr. K": "ˈun kˈom nˈul kˈin kˈiloː, doktˈor kˈaː",
}
