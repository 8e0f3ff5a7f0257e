"""Where pieces of a text meet, the model's speech steps and changes in level no more than inside the pieces.

The synthetic weights babble on through punctuation, and their F0 follows the whole context however far away:
this shows that a join is no worse than any other place. `test_join.py` shows on voiced sounds that phase and
level go on.
"""

from __future__ import annotations

import numpy as np
import pytest

from runtime_min import Bundle
from runtime_min.speech.join import HALF_FADE, LARGEST_ROOM
from tests.support.utterances import phonemes_of

pytestmark = pytest.mark.e2e

TEXT = " ".join(phonemes_of(tokens) for tokens in (60, 45, 100, 30, 80))


@pytest.mark.parametrize("voice", ["af_heart", "am_adam", "bf_emma"])
def test_no_join_is_worse_than_the_inside_of_a_piece(bundle: Bundle, voice: str) -> None:
    pieces = list(bundle.stream(TEXT, voice))
    assert "".join(piece.phonemes for piece in pieces) == TEXT and len(pieces) >= 5
    samples = np.concatenate([piece.samples for piece in pieces]).astype(np.float64)
    # A piece ends before the crossfade with the next one, which is then looked for in this reach.
    joined = np.zeros(len(samples), bool)
    for end in np.cumsum([len(piece.samples) for piece in pieces])[:-1]:
        joined[end : end + 2 * HALF_FADE + LARGEST_ROOM] = True
    steps = np.abs(np.diff(samples))
    assert steps[joined[1:]].max() <= steps[~joined[1:]].max()
    # From 50 ms before to 50 ms behind.
    window = 1_200
    squares = np.cumsum(np.concatenate([[0.0], samples**2]))
    levels = 10 * np.log10(squares[window:] - squares[:-window])
    changes, middles = np.abs(levels[window:] - levels[:-window]), joined[window : 1 - window]
    assert changes[middles].max() <= changes[~middles].max()
