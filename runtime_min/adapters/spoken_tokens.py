"""Tokens to samples, for programs that turn phonemes into tokens themselves."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bundle import Bundle
from ..errors import TensorInputError
from ..format.signatures import SAMPLES_PER_FRAME
from ..model.tokens import BOUNDARIES, BOUNDARY
from ..speech.request import HIGHEST_SPEED, LOWEST_SPEED

_log = logging.getLogger(__name__)


def speak_tokens(
    bundle: Bundle, token_ids: NDArray[Any], style: NDArray[Any], speed: float, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns samples ``[600 * frames]`` and the frames of each token ``[tokens]``.

    kokoro takes any speed, and text without known phonemes ("¿"). So a speed out of range is limited, with a
    warning, and two boundary tokens alone are silence, a frame for each.

    Args:
        bundle: the bundle that speaks.
        token_ids: integers ``[1, tokens]`` with a 0 at both ends.
        style: a row of a voice, ``[1, columns]`` or ``[columns]``.
        speed: the speed; from 0.25 to 4 it is used as it is.
        seed: the seed of the noise.

    Raises:
        InputError: the tokens, the style or the seed cannot be spoken.
    """
    phonemes = _phonemes(bundle, token_ids)
    within = min(max(speed, LOWEST_SPEED), HIGHEST_SPEED)
    if within != speed:
        _log.warning("speed %g instead of %g, which is out of range", within, speed)
    if not phonemes:
        return np.zeros(BOUNDARIES * SAMPLES_PER_FRAME, np.float32), np.ones(BOUNDARIES, np.int64)
    audio = bundle.synthesize(phonemes=phonemes, voice=style, speed=within, seed=seed, stretch=False)
    return audio.samples, audio.durations


def _phonemes(bundle: Bundle, token_ids: NDArray[Any]) -> str:
    """Returns the phonemes between the boundary tokens."""
    known = {token: phoneme for phoneme, token in bundle.manifest.vocabulary.items()}
    first, *inner, last = token_ids.ravel().tolist() if token_ids.size > 1 else (None, None)
    unknown = sorted({token for token in inner if token not in known})
    if unknown or first != BOUNDARY or last != BOUNDARY:
        raise TensorInputError(
            f"Expected token ids with a {BOUNDARY} at both ends and tokens of the vocabulary between, "
            f"found {token_ids.size} tokens, unknown among them: {unknown}."
        )
    return "".join(known[token] for token in inner)
