"""An app's own words in a text, for a G2P that reads controls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..speech.words import Word
from .controls import silence_emoji

_CONTROL = r"\[[^][\n]+\]\([^()\n]*\)"
_NONE = "(?!)"


class WithOwnWords:
    """A G2P, and words that an app says otherwise."""

    def __init__(
        self, g2p: Callable[[str], list[Word]], words: Mapping[str, str], *, skip_emoji: bool = False
    ) -> None:
        """Takes phonemes by word; a word in lower case stands also for its forms with capitals."""
        self._g2p, self._skip_emoji = g2p, skip_emoji
        lower = {word: own for word, own in words.items() if word == word.lower()}
        capitals = {form(word): own for word, own in lower.items() for form in (str.capitalize, str.upper)}
        self._words = {**capitals, **words}
        longest_first = sorted(self._words, key=lambda word: (-len(word), word))
        one = "|".join(map(re.escape, longest_first)) or _NONE
        self._pattern = re.compile(rf"{_CONTROL}|(?<!\w)({one})(?!\w)")

    def __call__(self, text: str) -> list[Word]:
        """Returns the words of a text."""
        return self._g2p(self._pattern.sub(self._control, silence_emoji(text) if self._skip_emoji else text))

    def _control(self, found: re.Match[str]) -> str:
        return found[0] if found[1] is None else f"[{found[1]}](/{self._words[found[1]]}/)"
