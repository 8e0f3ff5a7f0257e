"""Phonemes to token numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..errors import EmptyInputError, TooManyPhonemesError, UnknownPhonemesError

BOUNDARY = 0
"""Token that stands before the first and after the last phoneme."""
BOUNDARIES = 2


def tokenise(phonemes: str, vocabulary: Mapping[str, int], limit: int) -> NDArray[np.int64]:
    """Returns the tokens of `phonemes`, one a character, between two boundary tokens.

    Nothing is left out or cut off: kokoro drops unknown characters without a word.

    Args:
        phonemes: what to speak, as kokoro's G2P writes it.
        vocabulary: token number by phoneme.
        limit: most phonemes that can be spoken at once.

    Returns:
        int64 ``[1, len(phonemes) + 2]``.

    Raises:
        EmptyInputError: there are no phonemes.
        TooManyPhonemesError: there are more than `limit`.
        UnknownPhonemesError: some are not in `vocabulary`.
    """
    if not phonemes:
        raise EmptyInputError
    if len(phonemes) > limit:
        raise TooManyPhonemesError(len(phonemes), limit)
    if unknown := find_unknown(phonemes, vocabulary):
        raise UnknownPhonemesError(unknown)
    return np.array([[BOUNDARY, *(vocabulary[phoneme] for phoneme in phonemes), BOUNDARY]], np.int64)


def find_unknown(phonemes: str, vocabulary: Mapping[str, int]) -> dict[str, list[int]]:
    """Returns every phoneme that is not in `vocabulary`, with the positions at which it stands."""
    unknown: dict[str, list[int]] = {}
    for position, phoneme in enumerate(phonemes):
        if phoneme not in vocabulary:
            unknown.setdefault(phoneme, []).append(position)
    return unknown
