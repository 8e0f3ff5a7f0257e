"""Words in another script than that of their text, or marked with a language, in their own language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..speech.words import Word
from .controls import parts_by_language
from .english import English

_RANGES = [
    ("ぁ", "ヿ", "ja"), ("々", "〇", "zh ja"), ("㐀", "鿿", "zh ja"), ("ऀ", "ॿ", "hi"),
    ("A", "Z", "en-us en-gb"), ("a", "z", "en-us en-gb"), ("À", "ɏ", "en-us en-gb"),
]  # fmt: skip
"""First and last letters, and the languages that may be written with them, the likeliest first."""
_KANA = ("ぁ", "ヿ")
"""A text that has one of these is Japanese where it has Chinese characters."""
G2p = Callable[[str], Any]


class MixedScripts:
    """A G2P of the bundle, those of other scripts for what it cannot speak, and those of marked languages."""

    def __init__(
        self, g2p: G2p, find: Callable[[str], G2p | None], find_marked: Callable[[str], G2p]
    ) -> None:
        """Takes the parts.

        Args:
            g2p: the text's own.
            find: returns that of a language for a script; None if the bundle has none.
            find_marked: returns that of the tag of a language with which a part of the text is marked; raises
                an error if there is none.
        """
        self._g2p, self._find, self._find_marked = g2p, find, find_marked

    def __call__(self, text: str) -> list[Word]:
        """Returns the words of a text."""
        return self.read(text)[0]

    def read(self, text: str) -> tuple[list[Word], Sequence[int] | None]:
        """Returns the words of a text, and where its sentences begin if the G2P has found them."""
        parts = list(parts_by_language(text))
        if not any(tag for _, tag in parts):
            return self._read(text)
        words: list[Word] = []
        for part, tag in parts:
            spoken = part.lstrip() if words else part
            if words:
                space = words[-1].whitespace + part[: len(part) - len(spoken)]
                words[-1] = replace(words[-1], whitespace=space)
            words += self._find_marked(tag)(spoken) if tag else self._read(spoken)[0]
        return words, None

    def _read(self, text: str) -> tuple[list[Word], Sequence[int] | None]:
        """Does the same for a text without marked parts."""
        words, sentences = self._g2p.read(text) if isinstance(self._g2p, English) else (self._g2p(text), None)
        if all(word.phonemes is not None for word in words):
            return words, sentences
        has_kana = any(_KANA[0] <= letter <= _KANA[1] for letter in text)
        return [each for run in _runs(words) for each in self._spoken(run, has_kana)], sentences

    def _spoken(self, run: list[Word], has_kana: bool) -> list[Word]:
        """Returns the words of a run, or those that another language has for it."""
        languages = _languages(run[0].text) if run[0].phonemes is None else []
        if has_kana:
            languages = languages[::-1]
        g2p = next((found for language in languages if (found := self._find(language))), None)
        words = g2p("".join([word.text for word in run])) if g2p else []
        if not words or not words[-1].text:
            return run
        return [*words[:-1], replace(words[-1], whitespace=run[-1].whitespace)]


def _runs(words: Iterable[Word]) -> Iterator[list[Word]]:
    """Yields each word; an unspoken one with the unspoken and silent words of its script after it."""
    run: list[Word] = []
    for word in words:
        begun = run and run[0].phonemes is None and not run[-1].whitespace and not word.phonemes
        if begun and _languages(word.text) == _languages(run[0].text) != []:
            run.append(word)
            continue
        if run:
            yield run
        run = [word]
    if run:
        yield run


def _languages(text: str) -> list[str]:
    """Returns the languages of the first letter of a word that is in one of the scripts."""
    for letter in text:
        for first, last, languages in _RANGES:
            if first <= letter <= last:
                return languages.split(" ")
    return []
