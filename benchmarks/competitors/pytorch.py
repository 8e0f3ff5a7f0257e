"""kokoro's own model in PyTorch."""

from __future__ import annotations

import torch
from kokoro.model import KModel

from benchmarks.competitors import Competitor
from exporter.measure.engine import Piece, Speak


def load(competitor: Competitor) -> Speak:
    """Loads the checkpoint."""
    torch.set_num_threads(competitor.threads)
    voice = competitor.voice_rows()
    model = KModel(repo_id="hexgrad/Kokoro-82M", config=competitor.config, model=competitor.model).eval()

    def speak(phonemes: str) -> list[Piece]:
        said = model(phonemes, torch.from_numpy(voice[len(phonemes) - 1]), return_output=True)
        return [Piece(said.audio.numpy(), said.pred_dur.numpy())]

    return speak
