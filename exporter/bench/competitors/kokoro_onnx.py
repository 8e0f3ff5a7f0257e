"""kokoro-onnx, a client that streams on ONNX Runtime, with its defaults."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator

import numpy as np
from kokoro_onnx import Kokoro

from exporter.bench.competitors.onnxruntime import session
from exporter.bench.engine import Engine, Samples, Speak


def load(engine: Engine) -> Speak:
    """Loads the client with kokoro's own ONNX export and the bundle's voice."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, allow_pickle=False, **{engine.voice: engine.voice_rows()})
        file.flush()
        client = Kokoro.from_session(session(engine), file.name, vocab_config=engine.config)
        client.voices = dict(client.voices)  # read before the file goes

    def stream(phonemes: str) -> Iterator[Samples]:
        pieces = client.create_stream(phonemes, engine.voice, is_phonemes=True)

        async def following() -> tuple[Samples, int] | None:
            return await anext(pieces, None)

        with asyncio.Runner() as loop:
            while (found := loop.run(following())) is not None:
                yield found[0]

    return stream
