"""A soak test of memory: one process of the bundle speaks many utterances of mixed lengths."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from exporter.errors import ExportError
from exporter.measure.engine_process import EngineProcess
from exporter.measure.utterances import phonemes_of
from runtime_min.format.signatures import SAMPLE_RATE

LIMIT = 5_000_000
"""Bytes that the resident memory may grow by after `SETTLED` utterances."""
SETTLED = 1_000
_SAMPLES = 20


class MemoryGrewError(ExportError):
    """A bundle takes more memory the more it has spoken."""


@dataclass(frozen=True)
class Resident:
    """Resident memory after a number of utterances."""

    utterances: int
    bytes: int


@dataclass(frozen=True)
class Soak:
    """Resident memory from the first utterance to the last."""

    shortest: int
    """Tokens of the shortest utterance."""
    longest: int
    utterances: int
    settled: int
    """Number of utterances after which growth counts."""
    samples: tuple[Resident, ...]
    audio_seconds: float
    seconds: float

    @property
    def growth(self) -> int:
        """Bytes at the end less bytes after `settled` utterances."""
        start = next(sample for sample in self.samples if sample.utterances == self.settled)
        return self.samples[-1].bytes - start.bytes

    @property
    def flat(self) -> bool:
        """True if memory grew by no more than the limit."""
        return self.growth <= LIMIT

    def __str__(self) -> str:
        return (
            f"{self.utterances} utterances of {self.shortest} to {self.longest} tokens, "
            f"{self.audio_seconds:.0f} s of audio in {self.seconds:.0f} s: "
            f"{self.samples[-1].bytes / 1e6:.1f} MB resident, {self.growth / 1e6:+.1f} MB since utterance "
            f"{self.settled}, allowed {LIMIT / 1e6:.0f} MB"
        )


def soak(
    process: EngineProcess,
    utterances: int,
    lengths: tuple[int, int],
    vocabulary: Collection[str],
    step: Callable[[str], None],
) -> Soak:
    """Speaks, and reads the resident memory about twenty times.

    Args:
        process: a process of the bundle.
        utterances: number of utterances, 2 or more.
        lengths: least and greatest number of tokens.
        vocabulary: the model's phonemes.
        step: takes a line about each reading.

    Raises:
        EngineError: the engine failed.
    """
    choose = random.Random(utterances)
    settled = min(SETTLED, max(1, utterances // 10))
    looks = {settled, utterances, *(utterances * part // _SAMPLES for part in range(1, _SAMPLES))}
    samples, spoken = [], 0
    started = time.perf_counter()
    for number in range(1, utterances + 1):
        spoken += process.speak(phonemes_of(choose.randint(*lengths), vocabulary, number)).samples
        if number in looks:
            samples.append(Resident(number, process.resident_memory()))
            step(f"{number} of {utterances} utterances: {samples[-1].bytes / 1e6:.1f} MB resident")
    taken = time.perf_counter() - started
    return Soak(*lengths, utterances, settled, tuple(samples), spoken / SAMPLE_RATE, taken)
