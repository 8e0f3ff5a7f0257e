"""Text that arrives bit by bit: a sentence is handed on as soon as it is certain where it ends.

It is certain when the word after it is whole, in the text up to there. That depends on the text alone, and
not on where it was cut: so a text gives the same runs however it arrives. What is known of a whole text and
not here is told by what came before: whether it has capital letters, and how long its lines are.

>>> text = ArrivingText()
>>> [run.text for part in ("I met Dr", ". Smi", "th. He lef", "t. ") for run in text.push(part)]
['I met Dr. Smith. ']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ..speech.sentences import bracket_is_open, each_sentence
from .pauses import PAUSE

_POINT = re.compile(r"(?<=\S)\s|[\u2e80-\U0010ffff]")
"""Where a word may have ended: behind a space, or anywhere in scripts without spaces."""
_CLAUSE = re.compile(r"(?<=[^\W\d_])[”’\"']?(?:[,;:]+[”’\"']?\s+|[、，；：،—]\s*)(?=[^\W\d_]\S*\s?$)")
"""The end of a clause and the first word of the next; in numbers and dates no comma is certain to end one."""
_SHORTEST_CLAUSE, _LONGEST_CLAUSE = 8, 60
"""Characters of a clause that is spoken before its sentence is complete: about `split.FIRST_CLAUSE`."""
_LONGEST_RUN = 1_000
"""Characters of a sentence within which its end is looked for."""
_BRACKET = re.compile(r"[(\[{（【]")
_CLOSED = re.compile(r"\](?!\()|\)")


class Run(NamedTuple):
    """As much of a text as is read at once: a sentence, or the first clause."""

    text: str
    following: str = ""
    """The word after it, if that is known."""
    is_last: bool = False
    """The text ends with it."""
    is_apart: bool = False
    """What follows is spoken like an utterance of its own."""


class ArrivingText:
    """The text of one speech."""

    def __init__(self) -> None:
        self._text = ""
        """What was not handed on."""
        self._looked = 0
        """Up to where an end was looked for in it."""
        self._begun = False
        self._cased = False
        self._column = 0

    @property
    def has_rest(self) -> bool:
        """True if some of the text was not handed on."""
        return bool(self._text) and not self._text.isspace()

    def push(self, text: str) -> Iterator[Run]:
        """Yields the sentences that are certain now, when they are taken."""
        # In parts, so that a long text is not copied once for each sentence.
        for start in range(0, len(text), _LONGEST_RUN):
            self._text += text[start : start + _LONGEST_RUN]
            while run := self._next():
                yield run

    def flush(self) -> Iterator[Run]:
        """Yields what is there, although more may follow."""
        if self.has_rest:
            yield self._take(len(self._text))

    def end(self) -> Iterator[Run]:
        """Yields the rest of the text."""
        yield self._take(len(self._text))._replace(is_last=True)

    def _next(self) -> Run | None:
        for found in _POINT.finditer(self._text, self._looked, min(len(self._text), _LONGEST_RUN)):
            self._looked = found.end()
            if run := self._ended(self._text[: self._looked]):
                return run
        if len(self._text) < _LONGEST_RUN:
            return None
        return self._take(cut(self._text[:_LONGEST_RUN]))

    def _ended(self, text: str) -> Run | None:
        """Returns what is certain to have ended before the last word of a text."""
        if pause := PAUSE.search(text):
            return self._take(pause.end())._replace(is_apart=True)
        sentences = each_sentence(text, cased=self._cased, column=self._column)
        end = next(islice((start for start, _ in sentences), 1, 2), 0)
        if end:
            # A pause may follow.
            open_before = end + (text[end] == "[")
            return None if bracket_is_open(text, open_before) else self._take(end, text[end:])
        if self._begun or not (clause := _CLAUSE.search(text, _SHORTEST_CLAUSE, _LONGEST_CLAUSE * 2)):
            return None
        end = clause.end()
        if end > _LONGEST_CLAUSE or _BRACKET.search(text, 0, end):
            return None
        return self._take(end, text[end:])

    def _take(self, end: int, following: str = "") -> Run:
        taken, self._text = self._text[:end], self._text[end:]
        self._looked = 0
        self._begun = True
        self._cased = self._cased or taken != taken.lower()
        line = taken.rpartition("\n")[2]
        self._column = len(line) + (0 if "\n" in taken else self._column)
        return Run(taken, following.strip())


def cut(text: str) -> int:
    """Returns where to cut a text without the end of a sentence: between words, outside of controls."""
    end = text.rfind(" ") + 1 or len(text)
    opened = text.rfind("[", 0, end)
    return opened if opened > 0 and not _CLOSED.search(text, opened, end) else end
