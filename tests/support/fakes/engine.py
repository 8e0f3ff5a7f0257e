"""Functions that tests call in a fresh process."""

from __future__ import annotations

import os
import sys

import numpy as np

from exporter.measure import engine


def load() -> None:
    """Loads an engine that speaks in pieces of 100 samples a phoneme."""
    piece = engine.Piece(np.zeros(100, np.float32), np.ones(1, np.int64))
    engine._speak[:] = [lambda phonemes: (piece for _ in phonemes)]


def fail() -> None:
    from runtime_min.errors import UnknownVoiceError

    raise UnknownVoiceError("nobody", ["af_heart"])


def die() -> None:
    print("noise of a library", file=sys.stderr, flush=True)
    os._exit(3)
