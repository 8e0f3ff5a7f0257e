"""Chinese text to words with phonemes: words as jieba divides them, readings as pypinyin has them.

text → controls → written forms in Chinese characters → words → phonemes, with English runs between them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..speech.words import OwnWords, Word
from .chinese_dictionary import ChineseDictionary
from .chinese_forms import MAY_BEGIN, spoken_form
from .clauses import MARKS
from .controls import read_controls, silence_emoji
from .lexicon import own_phonemes

_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "！（），：；？"}
"""Characters of full width that are read as their usual forms."""
_MARKS = MARKS | {
    "《": "“", "》": "”", "〈": "“", "〉": "”", "「": "“", "」": "”", "『": "“", "』": "”", "【": "“",
    "】": "”", "（": "(", "）": ")", "｡": ".", "､": ",",
} | dict.fromkeys("·・•'‘’*_`[]{}/~〜-‐‑", "")  # fmt: skip
"""Marks and how they are spoken; empty if they are not."""
_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
_WORD = rf"(?:[A-Z]2[A-Z](?![A-Za-z])|[{_LATIN}]+(?:['’.&-][{_LATIN}]+)*(?:\+\+|\#)?)"
# A number between English words in lower case is read in English.
_ENGLISH = rf"{_WORD}(?:[,;:]?[ ]{_WORD}|[ ](?<=[a-z][ ])[0-9]+(?:[.,][0-9]+)*(?=[ ][a-z]))*"
_DOMAIN = r"(?:com|cn|org|net|edu|gov|io|ai|app|dev)(?![A-Za-z0-9])"
_PIECE = re.compile(
    rf"(?P<han>[\u4e00-\u9fff]+)|(?P<space>\s+)"
    r"|(?P<address>(?:https?://|www\.)[!-~]+|[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+"
    rf"|(?:[A-Za-z0-9-]{{1,63}}\.){{1,5}}{_DOMAIN})"
    rf"|(?P<english>{_ENGLISH})"
    rf"|(?P<mark>\.{{2,}}|-+|[—–]+|…+|[{re.escape(''.join(_MARKS))}])"
    rf"|(?P<other>[^\W\d_{_LATIN}\u4e00-\u9fff{re.escape(MAY_BEGIN)}]+|[\s\S])"
)
_CLOSING, _OPENING = tuple(",.!?:;—…)”"), tuple("(“")
G2p = Callable[[str], Any]


class Chinese:
    """A G2P for Chinese, for ``g2p=``."""

    def __init__(
        self,
        dictionary: ChineseDictionary,
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

    def adapted(self, words: OwnWords, *, skip_emoji: bool) -> Chinese:
        """Returns the same G2P with words of an app.

        Raises:
            SpokenTypeError: a word or its phonemes are no text.
        """
        return Chinese(self._dictionary, self._find_english, words, skip_emoji=skip_emoji)

    def __call__(self, text: str) -> list[Word]:
        """Returns the words of a text.

        The words and the white space after each make up the text without its controls. The phonemes of a
        word that cannot be spoken are None; a space at their end comes before the next word.
        """
        shown, controls = read_controls(silence_emoji(text) if self._skip_emoji else text)
        plain = shown.translate(_PLAIN)
        words = _Words(shown)
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
        run: list[tuple[int, str]] = []
        while start < end:
            found = _PIECE.match(plain, start, end)
            assert found is not None
            kind, start = found.lastgroup, found.end()
            if kind in ("english", "mark", "other") and (form := spoken_form(plain, found.start(), end)):
                # A number begins a word, but 第2 is one.
                if plain[found.start()].isascii() and plain[found.start() - 1 : found.start()] != "第":
                    self._add_chinese(run, words)
                    run = []
                start = form[0]
                run.append(form)
                continue
            if kind == "han":
                run += zip(range(found.start() + 1, start + 1), found[0], strict=True)
                continue
            self._add_chinese(run, words)
            run = []
            if kind in ("english", "address"):
                self._add_english(found[0], start, words)
            elif kind == "space":
                words.add_space(start)
            elif kind == "mark":
                words.add_mark(plain, found.start(), start)
            else:
                words.add(start, None)
        self._add_chinese(run, words)

    def _add_chinese(self, run: Sequence[tuple[int, str]], words: _Words) -> None:
        """Adds the words of written forms and characters, each with its end; one may take in several."""
        ends, spoken = {}, ""
        for end, said in run:
            spoken += said
            ends[len(spoken)] = end
        parts: list[str | None] = []
        for place, phonemes in self._dictionary.words(spoken):
            parts.append(phonemes)
            if place in ends:
                words.add(ends[place], None if None in parts else " ".join(map(str, parts)))
                parts = []

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


class _Words:
    """The words of a text, as they are found."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
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
        phonemes = "…" if mark.startswith("..") else _MARKS[mark[0]]
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
                if not word.phonemes.startswith(_CLOSING) and not last.endswith(_OPENING):
                    self._words[before] = replace(self._words[before], phonemes=f"{last} ")
            if word.whitespace:
                before = None
            elif word.phonemes:
                before = place
        return self._words
