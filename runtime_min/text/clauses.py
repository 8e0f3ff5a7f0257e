"""A text divided into clauses of words, and the marks between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import NamedTuple

from ..speech.words import Word
from .controls import read_controls

MARKS = {mark: mark for mark in ';:,.!?—…"()“”'} | {
    "«": "“", "»": "”", "„": "“", "–": "—", "-": "—", "।": ".", "॥": ".",
    "。": ".", "、": ",", "，": ",", "！": "!", "？": "?", "：": ":", "；": ";", "،": ",", "؛": ";", "؟": "?",
}  # fmt: skip
"""Kokoro's punctuation by the marks in the text; any other is not spoken."""
_DROPPED = "¿¡‘’'‹›[]{}*_`·・「」『』"
_INSIDE = re.escape("".join(MARKS).replace("-", "") + _DROPPED)
# 3.14, 10:30 and don't are words: a mark stands at the edge of one. Dashes and dots may stand between two.
_MARK = rf"(?:\.{{2,}}|--+|[—…]|(?<!\w)[{_INSIDE}]|[{_INSIDE}](?!\w)|(?<!\S)-(?!\S))"
_TOKEN = re.compile(rf"(?:(?P<mark>{_MARK})|(?P<word>(?:(?!{_MARK})\S)+))(?P<space>\s*)")


class Token(NamedTuple):
    """A mark or a word, and the whitespace after it."""

    mark: str | None
    word: str
    space: str
    phonemes: str | None = None
    """Phonemes that the text gives, or None."""


def read_clauses(
    text: str, speak: Callable[[Sequence[Token]], Iterable[Word]], abbreviations: Container[str] = ()
) -> list[Word]:
    """Returns the words and marks of a text with their phonemes, None for a word that has none.

    Args:
        text: the text; `controls` describes the pronunciations that it may give.
        speak: returns the words of a clause, given its tokens.
        abbreviations: words in lower case whose full stop is a part of them if another word follows.
    """
    tokens = _with_abbreviations([*_tokens(text)], abbreviations)
    words: list[Word] = []
    for (marked, given), found in groupby(tokens, key=lambda token: (token.mark is not None, token.phonemes)):
        run = list(found)
        if marked:
            words += map(_mark, run)
        elif given is None:
            words += [Word(word.text, word.phonemes or None, word.whitespace) for word in speak(run)]
        else:
            words += (Word(token.word, given, token.space) for token in run)
    return words


def _tokens(text: str) -> Iterator[Token]:
    """Yields the marks and words of a text; a part with given phonemes is one word."""
    plain, controls = read_controls(text)
    start = 0
    for control in controls:
        if control.phonemes is not None:
            yield from _plain_tokens(plain[start : control.start])
            shown, end = plain[control.start : control.end], control.end
            start = next(
                (place for place in range(end, len(plain)) if not plain[place].isspace()), len(plain)
            )
            yield Token(None, shown, plain[end:start], control.phonemes)
    yield from _plain_tokens(plain[start:])


def _plain_tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        yield Token(found["mark"], found["word"] or "", found["space"])


def _with_abbreviations(tokens: list[Token], abbreviations: Container[str]) -> list[Token]:
    joined: list[Token] = []
    for token, following in zip_longest(tokens, tokens[1:]):
        word = joined[-1].word if joined and not joined[-1].space else ""
        inside = token.mark == "." and word.lower() in abbreviations
        if inside and following and following.mark is None:
            joined[-1] = Token(None, f"{word}.", token.space)
        else:
            joined.append(token)
    return joined


def _mark(token: Token) -> Word:
    mark = token.mark or ""
    return Word(mark, "…" if mark.startswith("..") else MARKS.get(mark[0], ""), token.space)
