"""kokoro's own ONNX export in ONNX Runtime."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnxruntime

from exporter.bench.engine import Engine, Samples, Speak


def load(engine: Engine) -> Speak:
    """Loads the ONNX file and kokoro's vocabulary."""
    voice = engine.voice_rows()
    loaded = session(engine)
    with open(engine.config, encoding="utf-8") as file:
        vocabulary: dict[str, int] = json.load(file)["vocab"]

    def speak(phonemes: str) -> list[Samples]:
        token_ids = [0, *(vocabulary[phoneme] for phoneme in phonemes), 0]
        inputs = {
            "input_ids": np.array([token_ids], np.int64),
            "style": voice[len(phonemes) - 1],
            "speed": np.ones(1, np.int32),
        }
        return [np.asarray(loaded.run(["waveform"], inputs)[0], np.float32)]

    return speak


def session(engine: Engine) -> Any:
    """Loads the ONNX file with ONNX Runtime's defaults but for the number of threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = engine.threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(engine.onnx, options, providers=["CPUExecutionProvider"])
