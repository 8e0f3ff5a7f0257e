"""The figures of a benchmark, and their statistics."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

LIBRARIES = "libraries of one CPU level"
Tensors = tuple[tuple[tuple[int, ...], int], ...]
"""Shape and bytes of an element of each tensor that a kernel is called on."""


@dataclass(frozen=True)
class Timing:
    """One engine at one length and number of threads."""

    engine: str
    threads: int
    tokens: int
    audio_seconds: float
    """Length of the audio."""
    seconds: tuple[float, ...]
    """Seconds from phonemes to samples, warm, one figure for each round."""

    @property
    def median(self) -> float:
        """Median seconds of an utterance."""
        return statistics.median(self.seconds)

    @property
    def rate(self) -> float:
        """Median seconds for a second of audio."""
        return self.median / self.audio_seconds

    @property
    def best_rate(self) -> float:
        """Least seconds for a second of audio."""
        return min(self.seconds) / self.audio_seconds


@dataclass(frozen=True)
class ColdStart:
    """Whole processes of one engine, from their start to a written WAV file."""

    engine: str
    tokens: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median seconds of a process."""
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class PeakMemory:
    """The greatest resident memory of a fresh process of an engine that has spoken twice."""

    engine: str
    tokens: int
    bytes: int
    """VmHWM, mapped pages included."""


@dataclass(frozen=True)
class StreamTiming:
    """One engine that speaks a long text piece by piece, in each round in the same process."""

    engine: str
    characters: int
    """Phonemes of the text."""
    audio_seconds: float
    first: tuple[float, ...]
    """Seconds until the first audio, warm, one for each round."""
    seconds: tuple[float, ...]
    """Seconds until the last audio."""
    bytes: int
    """VmHWM of the process after all rounds."""


@dataclass(frozen=True)
class KernelTime:
    """All calls of one kernel within one stage."""

    stage: str
    kernel: str
    family: str
    calls: tuple[Tensors, ...]
    """The tensors of each call, the output last."""
    seconds: float
    """Seconds of all calls together."""


@dataclass(frozen=True)
class StageTime:
    """One stage, with and without the hook between its kernels."""

    stage: str
    seconds: float
    """Seconds of the stage without the hook."""
    hooked_seconds: float
    """Seconds from the first call that the hook sees to the last."""
    kernel_seconds: float
    """Seconds within kernels."""


@dataclass(frozen=True)
class Profile:
    """The time of one utterance by stage and kernel, medians of several runs."""

    tokens: int
    threads: int
    rounds: int
    audio_seconds: float
    seconds: float
    """The whole utterance without the hook."""
    stages: tuple[StageTime, ...]
    kernels: tuple[KernelTime, ...]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """All figures of one run."""

    facts: dict[str, str]
    """Machine, versions, date, and how it was measured."""
    tokens: tuple[int, ...]
    threads: tuple[int, ...]
    rounds: int
    timings: tuple[Timing, ...]
    cold_starts: tuple[ColdStart, ...]
    memory: tuple[PeakMemory, ...]
    sizes: dict[str, int]
    """Bytes of the files that an app ships, by kind."""
    busy_before: float
    """Cores that other processes used before the measurement."""
    busy_after: float
    profile: Profile | None = None
    streams: tuple[StreamTiming, ...] = ()

    @property
    def most_threads(self) -> int:
        """The most threads that were measured."""
        return max(self.threads)

    def timing(self, engine: str, tokens: int, threads: int | None = None) -> Timing | None:
        """Returns the timing of an engine at a length, by default on the most threads."""
        wanted = (engine, tokens, threads or self.most_threads)
        found = (each for each in self.timings if (each.engine, each.tokens, each.threads) == wanted)
        return next(found, None)
