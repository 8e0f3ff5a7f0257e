"""Pronunciations within a text: ``[Kokoro](/kˈOkəɹO/)``, ``[really](+1)``, ``[of](-0.5)``, ``[105](#a#)``.

``[bonjour](lang:fr)`` gives the language of a part of the text.

>>> read_controls("I am [Kokoro](/kˈOkəɹO/).")
('I am Kokoro.', [Control(start=5, end=11, phonemes='kˈOkəɹO', stress=None, flags='')])
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .written_forms.words import EMOJI

# No brackets within brackets: every place is looked at once.
_CONTROL = re.compile(r"\[([^][\n]+)\]\(([^()\n]*)\)")
_STRESS = re.compile(r"[+-]?(?:[0-9]|0?\.5)")
_LANGUAGE = re.compile(r"\[([^][\n]+)\]\(lang:([A-Za-z0-9_-]+)\)")


class Control(NamedTuple):
    """A part of the text whose pronunciation is given."""

    start: int
    end: int
    phonemes: str | None
    """Phonemes of the part; None if only its stress is given."""
    stress: float | None
    """Stress of the part, for `stress.restressed`."""
    flags: str = ""
    """misaki's flags for the part's numbers, see `written_forms.numbers.with_flags`."""


def silence_emoji(text: str) -> str:
    """Returns the text with controls that leave emoji and other pictures unspoken, but not numbers (①)."""
    return re.sub(EMOJI, lambda found: found[0] if found[0][0].isnumeric() else f"[{found[0]}](//)", text)


def read_controls(text: str) -> tuple[str, list[Control]]:
    """Returns the text without controls, and each control by the part of the text that it changes.

    Of a link, ``[text](https://…)``, only the text stays.
    """
    plain: list[str] = []
    controls: list[Control] = []
    length = position = 0
    for found in _CONTROL.finditer(text):
        before, shown, meaning = text[position : found.start()], found[1], found[2]
        plain += before, shown
        start = length + len(before)
        length = start + len(shown)
        position = found.end()
        if len(meaning) > 1 and meaning[0] == meaning[-1] == "/":
            controls.append(Control(start, length, meaning.strip("/"), None))
        elif len(meaning) > 1 and meaning[0] == meaning[-1] == "#":
            controls.append(Control(start, length, None, None, meaning.strip("#")))
        elif _STRESS.fullmatch(meaning):
            controls.append(Control(start, length, None, float(meaning)))
    return "".join([*plain, text[position:]]), controls


def parts_by_language(text: str) -> Iterator[tuple[str, str]]:
    """Yields the parts of a text, each with the tag of its language, which is empty for that of the text.

    >>> list(parts_by_language("She said [bonjour](lang:fr) to me."))
    [('She said ', ''), ('bonjour', 'fr'), (' to me.', '')]
    """
    position = 0
    for found in _LANGUAGE.finditer(text):
        if before := text[position : found.start()]:
            yield before, ""
        yield found[1], found[2]
        position = found.end()
    if rest := text[position:]:
        yield rest, ""
