"""kokoro's own model in PyTorch, with autocast to bfloat16."""

from __future__ import annotations

import torch

from benchmarks.competitors import Competitor, pytorch
from exporter.measure.engine import Piece, Speak


def load(competitor: Competitor) -> Speak:
    """Loads the checkpoint."""
    plain = pytorch.load(competitor)

    def speak(phonemes: str) -> list[Piece]:
        with torch.autocast("cpu", torch.bfloat16):
            return list(plain(phonemes))

    return speak
