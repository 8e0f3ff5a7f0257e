"""kokoro-onnx, a client that streams on ONNX Runtime, with its defaults."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator

import numpy as np
from kokoro_onnx import Kokoro

from benchmarks.competitors import Competitor
from benchmarks.competitors.onnxruntime import session
from exporter.measure.engine import Piece, Samples, Speak


def load(competitor: Competitor) -> Speak:
    """Loads the client with kokoro's own ONNX export and the bundle's voice."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, allow_pickle=False, **{competitor.voice: competitor.voice_rows()})
        file.flush()
        client = Kokoro.from_session(session(competitor), file.name, vocab_config=competitor.config)
        client.voices = dict(client.voices)  # read before the file is removed

    def stream(phonemes: str) -> Iterator[Piece]:
        pieces = client.create_stream(phonemes, competitor.voice, is_phonemes=True)

        async def following() -> tuple[Samples, int] | None:
            return await anext(pieces, None)

        with asyncio.Runner() as loop:
            while (found := loop.run(following())) is not None:
                yield Piece(found[0], np.empty(0, np.int64))

    return stream
