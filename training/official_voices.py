"""Writes the file of the 54 official voices from their packs: the factors that a bundle stores.

python -m training.official_voices PACKS exporter/model/data/voices.npz
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter.bundle.voice_factors import voice_factors
from exporter.model.voice_packs import NAMES, Voices, read_packs


def official_factors(packs: Voices) -> dict[str, NDArray[np.float32]]:
    """Returns the two factors of each official voice, one behind the other, float32 ``[766 · rank]``."""
    found = {}
    for name in NAMES:
        factors = voice_factors(packs[name])
        assert factors is not None, f"{name} is no product of small matrices"
        found[name] = np.concatenate([factor.ravel() for factor in factors])
    return found


if __name__ == "__main__":
    source, output = map(Path, sys.argv[1:])
    np.savez_compressed(output, allow_pickle=False, **official_factors(read_packs([source])))
