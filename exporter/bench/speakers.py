"""The three engines, each as its users run it: from phonemes to samples.

Each is loaded in a process of its own and imports only what it needs, because imports are a part of a cold
start and of the memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
Speak = Callable[[str], Samples]
"""Takes phonemes."""
Streamed = Callable[[str], Iterator[Samples]]
"""Takes phonemes, yields pieces."""


@dataclass(frozen=True)
class Engine:
    """What to load, and how; plain values, so that another process can be told."""

    name: str
    threads: int
    bundle: str
    """Directory of the bundle; PyTorch and ONNX Runtime take only the voice from it."""
    level: str
    """CPU level of the bundle."""
    voice: str
    voice_file: str
    """Within the bundle, float32 rows of `columns`."""
    columns: int
    checkpoint: str
    config: str
    onnx: str

    def as_json(self) -> str:
        """For the command line of another process."""
        return json.dumps(asdict(self))


def load(engine: Engine) -> Speak:
    """Loads an engine by its name."""
    return {"bundle": _bundle, "pytorch": _pytorch, "onnxruntime": _onnxruntime}[engine.name](engine)


def _bundle(engine: Engine) -> Speak:
    from runtime_min import Bundle

    bundle = Bundle.load(engine.bundle, threads=engine.threads, level=engine.level)
    return lambda phonemes: bundle.synthesize(phonemes, engine.voice).samples


def load_stream(engine: Engine) -> Streamed:
    """Loads what streams."""
    return {"bundle": _bundle_stream, "kokoro-onnx": _kokoro_onnx_stream}[engine.name](engine)


def _bundle_stream(engine: Engine) -> Streamed:
    from runtime_min import Bundle

    bundle = Bundle.load(engine.bundle, threads=engine.threads, level=engine.level)
    return lambda phonemes: (piece.samples for piece in bundle.stream(phonemes, engine.voice))


def _kokoro_onnx_stream(engine: Engine) -> Streamed:
    """kokoro-onnx with its defaults, its batches read as they come."""
    import asyncio
    import tempfile

    from kokoro_onnx import Kokoro

    rows = np.fromfile(f"{engine.bundle}/{engine.voice_file}", "<f4").reshape(-1, 1, engine.columns)
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, allow_pickle=False, **{engine.voice: rows})
        file.flush()
        client = Kokoro.from_session(_session(engine), file.name, vocab_config=engine.config)
        client.voices = dict(client.voices)  # read before the file goes

    def stream(phonemes: str) -> Iterator[Samples]:
        pieces = client.create_stream(phonemes, engine.voice, is_phonemes=True)

        async def following() -> tuple[Samples, int] | None:
            return await anext(pieces, None)

        with asyncio.Runner() as loop:
            while (found := loop.run(following())) is not None:
                yield found[0]

    return stream


def _pytorch(engine: Engine) -> Speak:
    import torch
    from kokoro.model import KModel

    torch.set_num_threads(engine.threads)
    model = KModel(repo_id="hexgrad/Kokoro-82M", config=engine.config, model=engine.checkpoint).eval()

    def speak(phonemes: str) -> Samples:
        style = torch.from_numpy(_style(engine, phonemes))
        return np.asarray(model(phonemes, style).numpy(), np.float32)

    return speak


def _session(engine: Engine) -> Any:
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = engine.threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(engine.onnx, options, providers=["CPUExecutionProvider"])


def _onnxruntime(engine: Engine) -> Speak:
    session = _session(engine)
    with open(engine.config, encoding="utf-8") as file:
        vocabulary: dict[str, int] = json.load(file)["vocab"]

    def speak(phonemes: str) -> Samples:
        token_ids = [0, *(vocabulary[phoneme] for phoneme in phonemes), 0]
        inputs = {
            "input_ids": np.array([token_ids], np.int64),
            "style": _style(engine, phonemes),
            "speed": np.ones(1, np.int32),
        }
        return np.asarray(session.run(["waveform"], inputs)[0], np.float32)

    return speak


def _style(engine: Engine, phonemes: str) -> Samples:
    """The row of the voice for this number of phonemes, ``[1, columns]``: the one that the bundle takes."""
    offset = (len(phonemes) - 1) * engine.columns * 4
    row = np.fromfile(f"{engine.bundle}/{engine.voice_file}", "<f4", engine.columns, offset=offset)
    return row.astype(np.float32)[None]
