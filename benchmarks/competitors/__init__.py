"""Kokoro in PyTorch and in ONNX Runtime, and kokoro-onnx: the engines that bundles are compared with.

``python -m benchmarks.competitors COMPETITOR PHONEMES FILE`` speaks once into a WAV file, for cold starts;
COMPETITOR is JSON of `Competitor`.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict, dataclass

import numpy as np

from exporter.measure.engine import Samples, Speak


@dataclass(frozen=True)
class Competitor:
    """An engine of another project, with the weights and the voice of a bundle."""

    name: str
    module: str
    """Module of this folder that loads the engine."""
    threads: int
    voice: str
    voice_file: str
    """The voice's rows as a .npy file."""
    model: str
    """The checkpoint or the ONNX file."""
    config: str
    sample_rate: int

    def load(self) -> Speak:
        """Loads the engine into this process."""
        module = importlib.import_module(f"benchmarks.competitors.{self.module}")
        speak: Speak = module.load(self)
        return speak

    def command(self, phonemes: str, wav: str) -> list[str]:
        """Returns the command line that writes a WAV file."""
        module = ("-W", "ignore", "-m", "benchmarks.competitors")
        return [sys.executable, *module, json.dumps(asdict(self)), phonemes, wav]

    def voice_rows(self) -> Samples:
        """Reads the voice, ``[rows, 1, columns]``; n phonemes take row n - 1."""
        rows: Samples = np.load(self.voice_file)
        return rows[:, None]
