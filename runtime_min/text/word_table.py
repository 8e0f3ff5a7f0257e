"""Words in a table by hashes of 40 bits, and those of them that a text has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .hashing import MULTIPLIER

LONGEST = 16
"""Characters of the longest word."""
_SHIFT = np.uint64(24)


def hashes_of(text: str) -> list[NDArray[np.uint64]]:
    """Returns the hashes, of 40 bits, of all parts of a text of 1 to `LONGEST` characters.

    Returns:
        An array for each length, with a hash for each place at which such a part begins.
    """
    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    hashes: list[NDArray[np.uint64]] = []
    state = np.zeros(len(letters), np.uint64)
    for length in range(min(LONGEST, len(letters))):
        state = (state[: len(letters) - length] + letters[length:]) * np.uint64(MULTIPLIER)
        hashes.append(state >> _SHIFT)
    return hashes


def find_words(hashes: list[NDArray[np.uint64]], keys: NDArray[np.uint64]) -> Iterator[tuple[int, int, int]]:
    """Yields length, place and number of each word of a table that a text has, the shortest words first."""
    for length, own in enumerate(hashes, 1):
        entries = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
        places = np.flatnonzero(keys[entries] == own)
        for place, entry in zip(places.tolist(), entries[places].tolist(), strict=True):
            yield length, place, entry
