"""Style rows of the voices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import UnknownVoiceError
from .manifest import Voice


class Style(NamedTuple):
    """The two halves of a style row, each float32 ``[1, style]``."""

    decoder: NDArray[np.float32]
    prosody: NDArray[np.float32]


def open_voices(directory: Path, voices: Sequence[Voice]) -> dict[str, NDArray[np.float32]]:
    """Maps every voice's table, float32 ``[rows, columns]``, into memory."""
    return {
        voice.name: np.memmap(directory / voice.file, "<f4", "r", shape=(voice.rows, voice.columns))
        for voice in voices
    }


def style_row(voices: Mapping[str, NDArray[np.float32]], name: str, phonemes: int) -> Style:
    """Returns the style of the voice `name` for an input of `phonemes` phonemes.

    Row ``phonemes - 1`` belongs to that length; its first half goes to the decoder, its second half to
    the prosody stages.

    Raises:
        UnknownVoiceError: there is no such voice.
    """
    if name not in voices:
        raise UnknownVoiceError(name, voices)
    decoder, prosody = voices[name][phonemes - 1].astype(np.float32).reshape(2, 1, -1)
    return Style(decoder, prosody)
