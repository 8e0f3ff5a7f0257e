"""kokoro's own model in PyTorch."""

from __future__ import annotations

import numpy as np
import torch
from kokoro.model import KModel

from benchmarks.competitors import Competitor
from exporter.bench.engine import Samples, Speak


def load(competitor: Competitor) -> Speak:
    """Loads the checkpoint."""
    torch.set_num_threads(competitor.threads)
    voice = competitor.voice_rows()
    model = KModel(repo_id="hexgrad/Kokoro-82M", config=competitor.config, model=competitor.checkpoint).eval()

    def speak(phonemes: str) -> list[Samples]:
        audio = model(phonemes, torch.from_numpy(voice[len(phonemes) - 1]))
        return [np.asarray(audio.numpy(), np.float32)]

    return speak
