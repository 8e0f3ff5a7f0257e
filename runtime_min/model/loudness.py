"""Loudness: a fixed gain for each voice, from its loudness as the exporter measured it.

The gain brings a voice to a loudness in LUFS (ITU-R BS.1770). Speech has rare peaks far above its loudness,
so that at -18 LUFS some would exceed full scale. What exceeds half of it is bent, sample by sample, and stays
below `KNEE + ROOM`: nothing clips, and no gain moves with time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NoLoudnessError
from ..format.extensions import read_extension
from ..format.manifest import Manifest
from ..format.schema import integer
from .voices import VoiceLike, voice_weights

EXTENSION = "loudness"
"""Key among a manifest's extensions: a reader without it speaks at the model's own level."""
KNEE = np.float32(0.5)
"""Samples up to this are amplified and nothing else,"""
ROOM = np.float32(0.4)
"""and greater ones come up to so much above it."""
_Loudness = Annotated[int, integer(-7_000, 0)]


def read_loudness(manifest: Manifest) -> Mapping[str, int]:
    """Returns the loudness of the voices that were measured, in hundredths of LUFS, by name.

    Raises:
        ManifestError: the extension breaks its schema.
    """
    found: Mapping[str, int] = read_extension(manifest, EXTENSION, _Loudness)
    return found


def voice_gain(
    measured: Mapping[str, int], voices: Mapping[str, Any], voice: VoiceLike, loudness: float
) -> np.float32:
    """Returns the factor that brings a voice to a loudness.

    The loudness of a blend is the weighted mean of its voices'.

    Args:
        measured: loudness of voices by name, in hundredths of LUFS.
        voices: the bundle's voices by name.
        voice: a name, a blend, or names to average.
        loudness: the wanted LUFS.

    Raises:
        NoLoudnessError: a voice is an array, or its loudness was not measured.
    """
    weights = voice_weights(voices, voice)
    if weights is None:
        raise NoLoudnessError(None)
    mean = 0.0
    for name, weight in weights.items():
        if name not in measured:
            raise NoLoudnessError(name)
        mean += weight * measured[name]
    return np.float32(10 ** ((100 * loudness - mean) / 2_000))


def amplify(samples: NDArray[np.float32], gain: np.float32) -> NDArray[np.float32]:
    """Returns the samples times the gain, with peaks bent so that none exceeds `KNEE + ROOM`."""
    louder = gain * samples
    above = np.maximum(np.abs(louder) - KNEE, np.float32(0))
    bent = KNEE + ROOM * above / (above + ROOM)
    return np.where(above > 0, np.copysign(bent, louder), louder)
