"""kokoro's own ONNX export in ONNX Runtime."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.competitors import Competitor
from exporter.measure.engine import Piece, Speak


def load(competitor: Competitor) -> Speak:
    """Loads the ONNX file and kokoro's vocabulary."""
    voice = competitor.voice_rows()
    loaded = session(competitor)
    with open(competitor.config, encoding="utf-8") as file:
        vocabulary: dict[str, int] = json.load(file)["vocab"]

    def speak(phonemes: str) -> list[Piece]:
        token_ids = [0, *(vocabulary[phoneme] for phoneme in phonemes), 0]
        inputs = {
            "input_ids": np.array([token_ids], np.int64),
            "style": voice[len(phonemes) - 1],
            "speed": np.ones(1, np.int32),
        }
        samples, durations = loaded.run(["waveform", "duration"], inputs)
        return [Piece(samples, durations)]

    return speak


def session(competitor: Competitor) -> Any:
    """Loads the ONNX file with ONNX Runtime's defaults but for the number of threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = competitor.threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(competitor.model, options, providers=["CPUExecutionProvider"])
