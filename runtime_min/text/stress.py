"""Stress of words: its marks, and moving them."""

from __future__ import annotations

import re

PRIMARY = "ˈ"
SECONDARY = "ˌ"
VOWELS = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ"
"""Phonemes that a syllable has one of."""
_HEAVY = re.compile("[AIOQWYʤʧ]")
_FIRST_VOWEL = re.compile(f"[{VOWELS}]")
_REMOVED = {ord(PRIMARY): None, ord(SECONDARY): None}
_WEAKER = {ord(PRIMARY): SECONDARY, ord(SECONDARY): None}


def restressed(phonemes: str, stress: float | None) -> str:
    """Returns the phonemes with another stress.

    Args:
        phonemes: of a word.
        stress: 0.5 gives an unstressed word secondary stress, 1 also makes secondary stress primary, 2 gives
            every word primary stress; 0 and -0.5 make primary stress secondary, -1 also removes secondary
            stress, -2 removes all; None changes nothing.
    """
    if stress is None:
        return phonemes
    primary, secondary = PRIMARY in phonemes, SECONDARY in phonemes
    if stress < -1:
        return phonemes.translate(_REMOVED)
    if stress == -1 or (primary and stress in (0, -0.5)):
        return phonemes.translate(_WEAKER)
    if not primary and not secondary and stress >= 0:
        return _stressed(phonemes, PRIMARY if stress > 1 else SECONDARY)
    if secondary and not primary and stress >= 1:
        return phonemes.replace(SECONDARY, PRIMARY)
    return phonemes


def weight(phonemes: str) -> int:
    """Returns the length of a word; diphthongs and affricates count twice."""
    return len(phonemes) + len(_HEAVY.findall(phonemes))


def _stressed(phonemes: str, mark: str) -> str:
    """Puts the mark before the first vowel, if there is one."""
    return _FIRST_VOWEL.sub(lambda vowel: mark + vowel[0], phonemes, count=1)
