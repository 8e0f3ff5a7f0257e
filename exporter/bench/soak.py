"""Whether memory stays flat: one process of the bundle speaks thousands of utterances of mixed lengths."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from exporter.errors import ExportError

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
    """What happened to the memory."""

    shortest: int
    """Tokens of the shortest utterance."""
    longest: int
    utterances: int
    settled: int
    """After so many utterances growth is counted."""
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
        """Whether memory grew by no more than the limit."""
        return self.growth <= LIMIT


class Process(Protocol):
    """What is watched: an `exporter.bench.engines.EngineProcess`."""

    def speak(self, phonemes: str) -> tuple[float, int]:
        """Seconds, and samples."""

    def memory(self, field: str = ...) -> int:
        """Bytes by a field of /proc/PID/status."""


def soak(
    process: Process,
    utterances: int,
    shortest: int,
    longest: int,
    phonemes_of: Callable[[int, int], str],
    sample_rate: int,
    tell: Callable[[str], None],
) -> Soak:
    """Speaks, and looks at the memory.

    Args:
        process: speaks.
        utterances: how many, 2 or more.
        shortest: least number of tokens.
        longest: greatest number of tokens.
        phonemes_of: from tokens and a seed to something to say.
        sample_rate: samples a second.
        tell: told of every look at the memory.
    """
    choose = random.Random(utterances)
    settled = min(SETTLED, max(1, utterances // 10))
    looks = {settled, utterances, *(utterances * part // _SAMPLES for part in range(1, _SAMPLES))}
    samples, spoken = [], 0
    started = time.perf_counter()
    for number in range(1, utterances + 1):
        _, count = process.speak(phonemes_of(choose.randint(shortest, longest), number))
        spoken += count
        if number in looks:
            samples.append(Resident(number, process.memory("VmRSS")))
            tell(f"{number} of {utterances} utterances: {samples[-1].bytes / 1e6:.1f} MB resident")
    taken = time.perf_counter() - started
    return Soak(shortest, longest, utterances, settled, tuple(samples), spoken / sample_rate, taken)
