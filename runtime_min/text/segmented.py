"""Text without spaces between its words to words with phonemes, by the dictionary of its language.

text → controls → written forms → words → phonemes, with English runs between them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple, Protocol

from ..speech.words import OwnWords, Word
from . import kana
from .clauses import MARKS as _CLAUSE_MARKS
from .controls import read_controls, silence_emoji
from .lexicon import own_phonemes
from .segmented_forms import SegmentedForms

MARKS = _CLAUSE_MARKS | {
    "《": "“", "》": "”", "〈": "“", "〉": "”", "「": "“", "」": "”", "『": "“", "』": "”", "【": "“",
    "】": "”", "（": "(", "）": ")", "｡": ".", "､": ",",
} | dict.fromkeys("・'‘’*_`[]{}/‐‑", "")  # fmt: skip
"""Marks and how they are spoken; empty if they are not."""
_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
_WORD = rf"(?:[A-Z]2[A-Z](?![A-Za-z])|[{_LATIN}]+(?:['’.&-][{_LATIN}]+)*(?:\+\+|\#)?)"
# A number between English words in lower case is read in English.
_ENGLISH = rf"{_WORD}(?:[,;:]?[ ]{_WORD}|[ ](?<=[a-z][ ])[0-9]+(?:[.,][0-9]+)*(?=[ ][a-z]))*"
_CLOSING, _OPENING = tuple(",.!?:;—…)”"), tuple("(“ʔ")
G2p = Callable[[str], Any]


def piece_of(letters: str, domains: str, marks: Mapping[str, str], forms: SegmentedForms) -> re.Pattern[str]:
    """Returns the pattern of a piece of text: letters of the language, space, English, a mark, or other."""
    return re.compile(
        rf"(?P<letters>[{letters}]+)|(?P<space>\s+)"
        r"|(?P<address>(?:https?://|www\.)[!-~]+|[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+"
        rf"|(?:[A-Za-z0-9-]{{1,63}}\.){{1,5}}(?:{domains})(?![A-Za-z0-9]))"
        rf"|(?P<english>{_ENGLISH})"
        rf"|(?P<mark>\.{{2,}}|-+|[—–]+|…+|[{re.escape(''.join(marks))}])"
        rf"|(?P<other>[^\W\d_{_LATIN}{letters}{re.escape(forms.may_begin)}]+|[\s\S])"
    )


class Writing(NamedTuple):
    """How a language is written."""

    plain: Mapping[int, int]
    """Characters that are read as others."""
    marks: Mapping[str, str]
    """Its `MARKS`."""
    piece: re.Pattern[str]
    """That of `piece_of`."""
    forms: SegmentedForms
    """Its numbers, dates and other forms."""
    glued: str = ""
    """What a number after it is a word with."""
    stand_ins: str = ""
    """What stands for a number, for a foreign word and for other marks among the words of the dictionary, and
    the marks that it knows itself; empty if a number is said by letters, and others divide a text. Forms are
    kana then."""


class Dictionary(Protocol):
    """The words of a language."""

    def words(self, text: str) -> Iterator[tuple[int, str | None]]:
        """Yields the end of each word of a text and its phonemes, None if it has none."""
        ...


class Segmented:
    """A G2P for a language whose words have no spaces between them, for ``g2p=``."""

    writing: ClassVar[Writing]

    def __init__(
        self,
        dictionary: Dictionary,
        find_english: Callable[[OwnWords], G2p | None],
        words: OwnWords | None = None,
        *,
        skip_emoji: bool = False,
    ) -> None:
        """Takes the parts.

        Args:
            dictionary: words and their readings.
            find_english: returns what reads English words, given those of the app; None if nothing does.
            words: words of an app and their phonemes.
            skip_emoji: leave emoji out, instead of reporting them as unspoken.

        Raises:
            SpokenTypeError: a word or its phonemes are no text.
        """
        self._dictionary = dictionary
        self._find_english = find_english
        self._english = cache(lambda: find_english(words or {}))
        self._own = own_phonemes(words or {})
        longest_first = sorted(self._own, key=lambda word: (-len(word), word))
        self._own_words = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self._skip_emoji = skip_emoji

    def adapted(self, words: OwnWords, *, skip_emoji: bool) -> Segmented:
        """Returns the same G2P with words of an app.

        Raises:
            SpokenTypeError: a word or its phonemes are no text.
        """
        return type(self)(self._dictionary, self._find_english, words, skip_emoji=skip_emoji)

    def __call__(self, text: str) -> list[Word]:
        """Returns the words of a text.

        The words and the white space after each make up the text without its controls. The phonemes of a
        word that cannot be spoken are None; a space at their end comes before the next word.
        """
        shown, controls = read_controls(silence_emoji(text) if self._skip_emoji else text)
        plain = shown.translate(self.writing.plain)
        words = _Words(shown, self.writing.marks)
        start = 0
        for each in controls:
            if each.phonemes is not None:
                self._read(plain, start, each.start, words)
                words.add(each.end, each.phonemes)
                start = each.end
        self._read(plain, start, len(plain), words)
        return words.spaced()

    def _read(self, plain: str, start: int, end: int, words: _Words) -> None:
        """Adds the words of a part of the text."""
        for found in self._own_words.finditer(plain, start, end):
            self._read_others(plain, start, found.start(), words)
            words.add(found.end(), self._own[found[0]])
            start = found.end()
        self._read_others(plain, start, end, words)

    def _read_others(self, plain: str, start: int, end: int, words: _Words) -> None:
        run = _Run(self.writing.stand_ins)
        while start < end:
            found = self.writing.piece.match(plain, start, end)
            assert found is not None
            kind, first, start = found.lastgroup, found.start(), found.end()
            form = (
                self.writing.forms.find(plain, first, end) if kind in ("english", "mark", "other") else None
            )
            if form:
                start = form[0]
                self._add_form(plain, first, form, run, words)
            elif kind == "letters":
                run.add_letters(first, found[0])
            elif kind in ("english", "address"):
                self._add(run, words, "foreign", partial(self._add_english, found[0], start, words))
            elif kind == "mark":
                self._add(run, words, found[0][0], partial(words.add_mark, plain, first, start))
            else:
                self._flush(run, words)
                if kind == "space":
                    words.add_space(start)
                else:
                    words.add(start, None)
        self._flush(run, words)

    def _add_form(self, plain: str, first: int, form: tuple[int, str], run: _Run, words: _Words) -> None:
        end, said = form
        if self.writing.stand_ins:
            spoken = " ".join([kana.phonemes(each) or "" for each in said.split()])
            self._add(run, words, "number", partial(words.add, end, spoken))
            return
        # A number begins a word.
        if plain[first].isascii() and plain[first - 1 : first] not in self.writing.glued:
            self._flush(run, words)
        run.add(end, said)

    def _add(self, run: _Run, words: _Words, kind: str, add: Callable[[], None]) -> None:
        """Adds what the dictionary does not read, at once or in its place among the words of a run."""
        if self.writing.stand_ins:
            run.add_stand_in(kind, add)
        else:
            self._flush(run, words)
            add()

    def _flush(self, run: _Run, words: _Words) -> None:
        """Adds the words of a run; one may take in several written forms and letters."""
        parts: list[str | None] = []
        for place, phonemes in self._dictionary.words(run.spoken):
            if place in run.others:
                run.others[place]()
                continue
            parts.append(phonemes)
            if place in run.ends:
                words.add(run.ends[place], None if None in parts else " ".join(map(str, parts)))
                parts = []
        run.clear()

    def _add_english(self, text: str, end: int, words: _Words) -> None:
        english = self._english()
        if english is None:
            words.add(end, None)
            return
        start = end - len(text)
        for word in english(text):
            start += len(word.text)
            words.add(start, word.phonemes)
            start += len(word.whitespace)
            words.add_space(start)


@dataclass
class _Run:
    """Letters and forms that are divided into words together."""

    stand_ins: str
    spoken: str = ""
    ends: dict[int, int] = field(default_factory=dict)
    """Ends in the text, by those of what is spoken."""
    others: dict[int, Callable[[], None]] = field(default_factory=dict)
    """What adds the words that a character stands for, by its end."""

    def add(self, end: int, said: str) -> None:
        self.spoken += said
        self.ends[len(self.spoken)] = end

    def add_letters(self, start: int, letters: str) -> None:
        """Adds letters; a mark of voiced sounds belongs to the kana before it."""
        for end, letter in enumerate(letters, start + 1):
            before = self.spoken[-1:]
            if letter in kana.VOICING and (one := kana.voiced(before, letter)):
                self.ends.pop(len(self.spoken), None)
                self.spoken = self.spoken[:-1]
                letter = one
            self.add(end, letter)

    def add_stand_in(self, kind: str, add: Callable[[], None]) -> None:
        number, foreign, mark, *known = tuple(self.stand_ins)
        self.spoken += {"number": number, "foreign": foreign}.get(kind, kind if kind in known else mark)
        self.others[len(self.spoken)] = add

    def clear(self) -> None:
        self.spoken = ""
        self.ends.clear()
        self.others.clear()


class _Words:
    """The words of a text, as they are found."""

    def __init__(self, shown: str, marks: Mapping[str, str]) -> None:
        self._shown, self._marks = shown, marks
        self._end = 0
        self._words: list[Word] = []
        self._quoted = False

    def add(self, end: int, phonemes: str | None) -> None:
        """Adds the word that ends at a place."""
        if end > self._end:
            self._words.append(Word(self._shown[self._end : end], phonemes))
            self._end = end

    def add_space(self, end: int) -> None:
        """Adds white space after the last word."""
        space, self._end = self._shown[self._end : end], end
        if space and not self._words:
            self._words.append(Word("", ""))
        if space:
            self._words[-1] = replace(self._words[-1], whitespace=self._words[-1].whitespace + space)
        if "\n" in space:
            self._quoted = False

    def add_mark(self, plain: str, start: int, end: int) -> None:
        """Adds a mark; straight quotes open and close in turn, and a dash stands alone."""
        mark = plain[start:end]
        phonemes = "…" if mark.startswith("..") else self._marks[mark[0]]
        if mark == '"':
            phonemes = "”" if self._quoted else "“"
            self._quoted = not self._quoted
        elif mark[0] == "-":
            alone = not plain[start - 1 : start].strip() and not plain[end : end + 1].strip()
            phonemes = "—" if alone or end > start + 1 else ""
        self.add(end, phonemes)

    def spaced(self) -> list[Word]:
        """Returns the words; a space ends the phonemes of one that another follows without white space."""
        before: int | None = None
        for place, word in enumerate(self._words):
            if before is not None and word.phonemes:
                last = self._words[before].phonemes or ""
                if not word.phonemes.startswith((*_CLOSING, "ʔ")) and not last.endswith(_OPENING):
                    self._words[before] = replace(self._words[before], phonemes=f"{last} ")
            if word.whitespace:
                before = None
            elif word.phonemes:
                before = place
        return self._words
