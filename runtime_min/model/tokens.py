"""Phonemes to token numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

BOUNDARY = 0
"""Token before the first and after the last phoneme."""
BOUNDARIES = 2


def tokenise(phonemes: str, vocabulary: Mapping[str, int]) -> NDArray[np.int64]:
    """Returns the tokens of `phonemes`, one a character, between two boundary tokens.

    Args:
        phonemes: checked by `speech.request.check_phonemes`.
        vocabulary: token number by phoneme.

    Returns:
        int64 ``[1, len(phonemes) + 2]``.
    """
    return np.array([[BOUNDARY, *(vocabulary[phoneme] for phoneme in phonemes), BOUNDARY]], np.int64)
