"""An engine as its users run it, from phonemes to samples, in a process that measures itself.

`load` and `speak` run in a `FreshProcess`. Nothing is imported that the engine does not need, because imports
are a part of a cold start and of the memory.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
Speak = Callable[[str], Iterable[Samples]]
"""Takes phonemes, yields the pieces of the audio."""

_speak: list[Speak] = []
"""The engine of this process, once it is loaded."""


@dataclass(frozen=True)
class Engine:
    """What to load, and how; plain values for another process."""

    name: str
    threads: int
    bundle: str
    """Directory of the bundle; the competitors take only the voice from it."""
    level: str
    """CPU level of the bundle."""
    voice: str
    voice_file: str
    """Within the bundle, float32 rows of `columns`."""
    columns: int
    checkpoint: str
    config: str
    onnx: str
    sample_rate: int

    def voice_rows(self) -> Samples:
        """Reads the voice, ``[rows, 1, columns]``; n phonemes take row n - 1."""
        return np.fromfile(f"{self.bundle}/{self.voice_file}", "<f4").reshape(-1, 1, self.columns)

    def as_json(self) -> str:
        """Returns the engine for the command line of another process."""
        return json.dumps(asdict(self))


class Spoken(NamedTuple):
    """How long an utterance took."""

    first: float
    """Seconds until the first piece of the audio."""
    seconds: float
    """Seconds until the last piece."""
    samples: int


def load(engine: Engine, stream: bool = False) -> None:
    """Loads an engine into this process.

    Args:
        engine: what to load.
        stream: whether it is to speak piece by piece.
    """
    if engine.name == "bundle":
        loaded = _load_bundle(engine, stream)
    else:
        competitor = importlib.import_module(f"exporter.bench.competitors.{engine.name.replace('-', '_')}")
        loaded = competitor.load(engine)
    _speak[:] = [loaded]


def speak(phonemes: str) -> Spoken:
    """Speaks with the engine of this process, and returns how long it took."""
    ends, samples = [], 0
    started = time.perf_counter()
    for piece in _speak[0](phonemes):
        ends.append(time.perf_counter() - started)
        samples += piece.size
    return Spoken(ends[0], ends[-1], samples)


def _load_bundle(engine: Engine, stream: bool) -> Speak:
    from runtime_min import Bundle

    bundle = Bundle.load(engine.bundle, threads=engine.threads, level=engine.level)
    if stream:
        return lambda phonemes: (piece.samples for piece in bundle.stream(phonemes, engine.voice))
    return lambda phonemes: [bundle.synthesize(phonemes, engine.voice).samples]
