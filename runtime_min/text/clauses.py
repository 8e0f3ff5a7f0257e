"""A text divided into clauses of words, and the marks between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from ..speech.words import Word

MARKS = {mark: mark for mark in ';:,.!?—…"()“”'} | {
    "«": "“", "»": "”", "„": "“", "–": "—", "-": "—", "।": ".", "॥": ".",
    "。": ".", "、": ",", "，": ",", "！": "!", "？": "?", "：": ":", "；": ";", "،": ",", "؛": ";", "؟": "?",
}  # fmt: skip
"""Kokoro's punctuation by the marks in the text; any other is not spoken."""
_DROPPED = "¿¡‘’'‹›[]{}*_`·・「」『』"
_INSIDE = re.escape("".join(MARKS).replace("-", "") + _DROPPED)
# 3.14, 10:30 and don't are words: a mark stands at the edge of one. Dashes and dots may stand between two.
_MARK = rf"(?:\.{{2,}}|--+|[—…]|(?<!\w)[{_INSIDE}]|[{_INSIDE}](?!\w)|(?<!\S)-(?!\S))"
_TOKEN = rf"(?:(?P<mark>{_MARK})|(?P<word>(?:(?!{_MARK})\S)+))(?P<space>\s*)"


class Token(NamedTuple):
    """A mark or a word, and the whitespace after it."""

    mark: str | None
    word: str
    space: str


def read_clauses(text: str, speak: Callable[[Sequence[Token]], Iterable[Word]]) -> list[Word]:
    """Returns the words and marks of a text with their phonemes, None for a word that has none.

    Args:
        text: the text.
        speak: returns the words of a clause, given its tokens.
    """
    tokens = [
        Token(found["mark"], found["word"] or "", found["space"]) for found in re.finditer(_TOKEN, text)
    ]
    words: list[Word] = []
    for spoken, found in groupby(tokens, key=lambda token: token.mark is None):
        run = list(found)
        if spoken:
            words += [replace(word, phonemes=word.phonemes or None) for word in speak(run)]
        else:
            words += map(_mark, run)
    return words


def _mark(token: Token) -> Word:
    mark = token.mark or ""
    return Word(mark, "…" if mark.startswith("..") else MARKS.get(mark[0], ""), token.space)
