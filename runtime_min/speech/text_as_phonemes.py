"""Recognises text that was given as phonemes: most Latin letters are phonemes of Kokoro too.

>>> looks_like_text("hello world"), looks_like_text("həlˈO wˈɜɹld"), looks_like_text("watasi wa")
(True, False, False)
"""

from __future__ import annotations

import re

_ASCII = re.compile(r"[\x00-\x7f—…“”]*")
_WORD = re.compile(r"\b[A-Z]?[a-z]+\b")
_OPEN_SYLLABLES = re.compile(r"(?:[^aeiouj]?j?[aeiou])+")


def looks_like_text(phonemes: str) -> bool:
    """Returns True if no word has a stress mark or a letter of phonetics, as in phonemes at least one has.

    Words of open syllables do not count, because Japanese phonemes may be nothing else. Neither do one or two
    short words, such as "wil" and "and", which have no stress in English.
    """
    if not _ASCII.fullmatch(phonemes):
        return False
    words = [word for word in _WORD.findall(phonemes) if not _OPEN_SYLLABLES.fullmatch(word.lower())]
    return any(len(word) >= 4 for word in words) or sum(map(len, words)) >= 7
