"""Phonemes of words that are written without white space between them, such as *mother-in-law* or *R2-D2*."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .pronunciation import Context, Pronunciation
from .stress import PRIMARY, VOWELS, restressed, weight

_LONGEST = 13
"""Parts of the longest compound in the lexicon."""
_MOST_PARTS = 60
"""Parts of the longest word in which compounds are looked for."""
_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_CAMEL_CASE = re.compile(rf"[{_UPPER}](?=[{_UPPER}][{_LOWER}])|.*?[{_LOWER}](?=[{_UPPER}])|.+")
_WORDS = re.compile(r"(?:[^\W\d_]|['\u0300-\u036f])+|.", re.DOTALL)
_SILENT = "'-._‘’/"
_BEGINNING = re.compile(f"[{VOWELS}bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ;:,.!?—…]")
"""The first sound or pause; stress, quotes and brackets are neither."""
_CONTEXTS = {(vowel, to): Context(vowel, to) for vowel in (True, False, None) for to in (True, False)}


class Part(NamedTuple):
    """A part of a compound: letters, digits, or one other character."""

    text: str
    tag: str
    spoken: str | None = None
    """The words that are spoken for it, if they are not those that are written."""


def parts_of(text: str, tag: str, spoken: str | None = None) -> list[Part]:
    """Returns the parts of a token; *iPhone* and *Prof.* have two."""
    if spoken is not None or len(text) == 1 or (text.isalpha() and text.islower()):
        return [Part(text, tag, spoken)]
    if not text.isalpha():
        return [Part(found, tag) for found in _WORDS.findall(text)]
    return [Part(found, tag) for found in _CAMEL_CASE.findall(text)]


def following(phonemes: str, text: str, context: Context) -> Context:
    """Returns the context before a word, from its phonemes and the context after it."""
    found = _BEGINNING.search(phonemes)
    vowel = context.vowel if found is None else None if found[0] in ";:,.!?—…" else found[0] in VOWELS
    return _CONTEXTS[vowel, text in ("to", "To", "TO")]


def compound(
    parts: Sequence[Part],
    context: Context,
    pronunciation: Pronunciation,
    alone: Callable[[Part, Context], str | None],
) -> tuple[list[str | None], Context]:
    """Returns the phonemes of each part, and the context before the first.

    From the right, the most parts are taken that are one word.

    Args:
        parts: the parts in order.
        context: what follows the last one.
        pronunciation: the words of the dialect.
        alone: makes phonemes of a part that is in no longer word; None if it cannot be spoken.
    """
    spoken: list[str | None] = [""] * len(parts)
    # A run is longer than any word, so only its single parts can be words.
    longest = _LONGEST if 1 < len(parts) <= _MOST_PARTS else 1
    prominences = [_prominence(part.text) for part in parts] if longest > 1 else []
    end = len(parts)
    while end:
        first = _first_of_word(parts, end, longest)
        start, phonemes = end - 1, None
        for start in range(first, end - 1):
            most = max(range(start, end), key=prominences.__getitem__)
            text = "".join([part.text for part in parts[start:end]])
            phonemes = pronunciation.word(text, parts[most].tag, context)
            if phonemes is not None:
                break
        else:
            start, text = end - 1, parts[end - 1].text
            phonemes = alone(parts[start], context)
        spoken[start] = phonemes
        context = following(phonemes or "", text, context)
        end = start
    return spoken, context


def _first_of_word(parts: Sequence[Part], end: int, longest: int) -> int:
    """Returns the first part of the longest word that may end at `end`; parts with own words are in none."""
    first = end - 1
    while first > 0 and first > end - longest and not parts[first].spoken and not parts[first - 1].spoken:
        first -= 1
    return first


def is_silent(part: Part) -> bool:
    """Returns True for a mark within a word."""
    return part.spoken is None and part.text in _SILENT


def joined(parts: Sequence[Part], spoken: Sequence[str | None]) -> str:
    """Returns the phonemes of a compound: as one word with fewer stresses, or as words of their own."""
    # B2B is spoken as one word, as every word of letters alone.
    texts = {part.text for part in parts if part.spoken != "to"}
    kinds = {_kind(text) for text in texts} - {""}
    words = [(part, phonemes) for part, phonemes in zip(parts, spoken, strict=True) if phonemes]
    if len(kinds) > 1 or "/" in texts or {part.spoken for part in parts} - {None, "to"}:
        return " ".join(phonemes for _, phonemes in words)
    weaker: Iterable[int] = ()
    if len(words) == 2 and len(words[0][0].text) == 1:
        weaker = [1]
    elif len(words) > 1:
        order = sorted((PRIMARY in phonemes, weight(phonemes), n) for n, (_, phonemes) in enumerate(words))
        if sum(stressed for stressed, _, _ in order) > (len(words) + 1) // 2:
            weaker = {number for _, _, number in order[: len(words) // 2]}
    return "".join(
        restressed(phonemes, -0.5) if number in weaker else phonemes
        for number, (_, phonemes) in enumerate(words)
    )


def _prominence(text: str) -> int:
    """Returns the number of characters; capitals count twice."""
    return len(text) + sum([letter != letter.lower() for letter in text])


def _kind(text: str) -> str:
    return (
        "" if text in _SILENT else "letters" if text.isalpha() else "digits" if text.isdigit() else "others"
    )
