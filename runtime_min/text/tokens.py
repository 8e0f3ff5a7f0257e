"""English text as tokens: words, numbers, hyphens and marks, as the Penn Treebank has them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .pronunciation import SYMBOLS
from .written_forms.numbers import digits
from .written_forms.words import MARKUP

_LETTER = "[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿﬀ-ﬆ]"
"""A Latin letter."""
UNKNOWN = "XX"
"""Tag of tokens that are not spoken in English."""
_ABBREVIATIONS = (
    "Adm|Apr|Assn|Aug|Ave|Blvd|Bros|Capt|Co|Col|Comdr|Corp|Ct|Dec|Dept|Dr|Ed|Esq|Feb|Fig|Fr|Ft|Gen|Gov|Hon|"
    "Inc|Jan|Jr|Jul|Jun|Lt|Ltd|Maj|Mar|Messrs|Mr|Mrs|Ms|Mt|Nov|Oct|Ph\\.D|Pres|Prof|Rep|Rev|Sen|Sep|Sept|"
    "Sgt|Sr|St|Univ|[Aa]pprox|[Cc]f|[Ee]st|[Ee]tc|[Vv]ol|[Vv]s"
)
_APOSTROPHE_FIRST = (
    "bout|cause|cept|d|em|fraid|gainst|ll|m|mongst|n|neath|nother|pon|re|roid|round|s|t|til|till|tis|tude|"
    "twas|tween|twere|twill|twixt|twould|un|ve|za"
)
_SPECIES = (
    "aeruginosa|albicans|anthracis|aureus|baumannii|botulinum|burgdorferi|cerevisiae|coli|dentata|difficile|elegans|"
    "epidermidis|erectus|faecalis|falciparum|fumigatus|gambiae|influenzae|melanogaster|meningitidis|musculus|"
    "neanderthalensis|neoformans|pneumoniae|pylori|rerio|rex|sapiens|sativa|subtilis|tetani|thaliana|tuberculosis|"
    "vivax|vulgaris"
)
"""After the initial of a genus."""
_MARKS = {
    **dict.fromkeys(".!?", "."), ",": ",", **dict.fromkeys(";:—–…", ":"),
    **dict.fromkeys("([{", "-LRB-"), **dict.fromkeys(")]}", "-RRB-"),
    **dict.fromkeys("“«‘„", "``"), **dict.fromkeys("”»’", "''"),
    **dict.fromkeys("*_`|~^\\", "NFP"),
}  # fmt: skip
"""Tags of marks; `"` and `'` open or close."""
_PUNCTUATION = {"-LRB-": "(", "-RRB-": ")", "``": "“", "''": "”", "NFP": ""}
_TOKEN = re.compile(
    rf"(?P<space>\s+)|(?P<markup>{MARKUP})"
    # U.S. and A.B.C, but not the end of "so I."
    rf"|(?P<initials>(?<!\w)(?:{_LETTER}\.){{2,}}(?:{_LETTER}(?!\w))?"
    rf"|(?<!\w)[A-Z]\.(?=\s+(?:[A-Z]|(?:{_SPECIES})\b)))"
    rf"|(?P<abbreviation>(?<!\w)(?:{_ABBREVIATIONS})\.(?!\w))"
    rf"|(?P<word>(?:(?<!\w)'(?=(?i:{_APOSTROPHE_FIRST})\b))?{_LETTER}(?:{_LETTER}|[\u0300-\u036f]|'(?={_LETTER}))*)"
    r"|(?P<possessive>(?<=\w)'[sS](?!\w))"
    rf"|(?P<foreign>[^\W\d_](?:(?!{_LETTER})[^\W\d_])*)"
    rf"|(?P<to>(?<={_LETTER})2(?={_LETTER}))"
    r"|(?P<number>[0-9])"
    r"|(?P<dots>\.{2,})|(?P<dash>-{2,})"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_RUNS = {"dots": "...", "dash": "—"}
_CONTRACTED = re.compile(r"(?i)(.+?)(n't|'(?:s|ll|re|ve|d|m))")
_OPENS_AFTER = " \t\n([{—–-“‘\"'/"


class Token(NamedTuple):
    """A token and its place in the text."""

    text: str
    start: int
    end: int
    tag: str
    """Tag, if the token itself decides it; otherwise empty."""
    phonemes: str | None = None
    """Phonemes, if the token itself decides them, as for a mark."""
    spoken: str | None = None
    """The words that are spoken for it, if they are not those that are written."""


def tokenise(text: str, known: Iterable[Token] = ()) -> list[Token]:
    """Returns the tokens of a text.

    Args:
        text: the text, with straight apostrophes.
        known: tokens that are known already, in order; between them the text is split.
    """
    tokens: list[Token] = []
    position = 0
    for token in known:
        if position < token.start:
            _add_tokens(tokens, text, position, token.start)
        tokens.append(token)
        position = token.end
    _add_tokens(tokens, text, position, len(text))
    return list(_with_apostrophes(tokens))


def _add_tokens(tokens: list[Token], text: str, position: int, end: int) -> None:
    for found in _TOKEN.finditer(text, position, end):
        kind, written, start = found.lastgroup, found[0], found.start()
        if kind == "space":
            continue
        if kind == "mark":
            tokens.append(_mark(text, start))
        elif kind == "markup":
            tokens.append(Token(written, start, found.end(), "NFP", ""))
        elif kind == "foreign":
            tokens.append(Token(written, start, found.end(), UNKNOWN, ""))
        elif kind == "to" or kind == "number":
            spoken = "to" if kind == "to" else digits(written)
            tokens.append(Token(written, start, found.end(), "CD", None, spoken))
        elif kind in _RUNS:
            tokens.append(Token(written, start, found.end(), ":", _RUNS[kind]))
        elif kind == "word" and "'" in written and (parts := _CONTRACTED.fullmatch(written)):
            middle = start + parts.end(1)
            tokens.append(Token(parts[1], start, middle, ""))
            tokens.append(Token(parts[2], middle, found.end(), ""))
        else:
            tokens.append(Token(written, start, found.end(), ""))


def _with_apostrophes(tokens: Iterable[Token]) -> Iterator[Token]:
    """Makes a closing quote that none opened the end of its word, as in *James' book*."""
    opened = 0
    for token in tokens:
        if token.text in ("'", "‘"):
            opened += 1 if token.tag == "``" else -1
            if opened < 0:
                opened, token = 0, token._replace(tag="POS", phonemes=None)
        yield token


def _mark(text: str, start: int) -> Token:
    mark, end = text[start], start + 1
    tag = _mark_tag(mark, text[start - 1 : start], text[end : end + 1])
    if tag == "HYPH" or mark in SYMBOLS or mark == "/":
        return Token(mark, start, end, tag)
    if tag:
        return Token(mark, start, end, tag, "—" if mark in "-–" else _PUNCTUATION.get(tag, mark))
    name = unicodedata.name(mark, "").lower().replace("-", " ")
    if unicodedata.category(mark)[0] in "SN" and name:
        return Token(mark, start, end, "SYM", None, name)
    # Marks on a letter, variants of an emoji and invisible characters change nothing.
    silent = unicodedata.category(mark) in ("Mn", "Me", "Cf")
    return Token(mark, start, end, "NFP" if silent else UNKNOWN, "")


def _mark_tag(mark: str, before: str, after: str) -> str:
    """Returns the tag of a mark between two characters; an empty one if it is no punctuation."""
    if mark in "\"'":
        opens = (not before or before in _OPENS_AFTER) and after and not after.isspace()
        return "``" if opens else "''"
    if mark == "-":
        return ":" if not before.strip() and not after.strip() else "HYPH"
    if mark == "." and before.isalnum() and after.isalnum() and not after.isupper():
        return "HYPH"
    return _MARKS.get(mark, "")
