"""An engine from phonemes to samples, in a process that measures itself.

`load` and `speak` run in a `FreshProcess`. Nothing is imported that the engine does not need, because imports
are a part of a cold start and of the memory.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

BUNDLE = "bundle"
Samples = NDArray[np.float32]


class Piece(NamedTuple):
    """A piece of the audio, or all of it."""

    samples: Samples
    durations: NDArray[np.int64]
    """Frames of each token; empty if the engine does not give them."""


Speak = Callable[[str], Iterable[Piece]]
"""Takes phonemes, yields the pieces of the audio."""

_speak: list[Speak] = []
"""The engine of this process, once it is loaded."""


class Program(Protocol):
    """An engine that a user starts as a program."""

    @property
    def name(self) -> str:
        """Name of the engine."""

    @property
    def threads(self) -> int:
        """Number of threads that the engine computes on."""

    def command(self, phonemes: str, wav: str) -> list[str]:
        """Returns the command line that a user would run to write a WAV file."""


class Engine(Program, Protocol):
    """A description of an engine in plain values, which another process of Python receives."""

    def load(self) -> Speak:
        """Loads the engine into this process."""


@dataclass(frozen=True)
class BundleEngine:
    """A bundle in `runtime_min`."""

    bundle: str
    """Directory of the bundle."""
    level: str
    """CPU level."""
    voice: str
    threads: int
    stream: bool = False
    """The audio is computed piece by piece."""
    name: str = BUNDLE

    def load(self) -> Speak:
        """Loads the bundle into this process, without a package that tvm_ffi imports where it finds it.

        ONNX needs it, to which the bundle is compared; an app's environment lacks it. It takes 2 MiB.
        """
        sys.modules.setdefault("ml_dtypes", None)  # type: ignore[arg-type]
        from runtime_min import Bundle

        bundle = Bundle.load(self.bundle, threads=self.threads, level=self.level)

        def pieces(phonemes: str) -> Iterable[Any]:
            if self.stream:
                return bundle.stream(phonemes=phonemes, voice=self.voice)
            return [bundle.synthesize(phonemes=phonemes, voice=self.voice)]

        return lambda phonemes: (Piece(each.samples, each.durations) for each in pieces(phonemes))

    def command(self, phonemes: str, wav: str) -> list[str]:
        """Returns the command line of the runtime that writes a WAV file."""
        options = ("--voice", self.voice, "--level", self.level, "--threads", str(self.threads))
        utterance = ("--phonemes", phonemes, "--format", "pcm16", "-o", wav)
        return [sys.executable, "-m", "runtime_min", self.bundle, *options, *utterance]


class Spoken(NamedTuple):
    """The time that an utterance took."""

    first: float
    """Seconds until the first piece of the audio."""
    seconds: float
    """Seconds until the last piece."""
    samples: int


def load(engine: Engine) -> None:
    """Loads an engine into this process."""
    _speak[:] = [engine.load()]


def speak(phonemes: str) -> Spoken:
    """Speaks with the engine of this process, and returns how long it took."""
    ends, samples = [], 0
    started = time.perf_counter()
    for piece in _speak[0](phonemes):
        ends.append(time.perf_counter() - started)
        samples += piece.samples.size
    return Spoken(ends[0], ends[-1], samples)


def voiced(phonemes: str) -> Piece:
    """Speaks with the engine of this process, and returns the whole audio."""
    samples, durations = zip(*_speak[0](phonemes), strict=True)
    return Piece(np.concatenate(samples), np.concatenate(durations))
