"""The figures of a benchmark, and their statistics."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

BUNDLE, PYTORCH, ONNXRUNTIME = "bundle", "pytorch", "onnxruntime"
ENGINES = (BUNDLE, PYTORCH, ONNXRUNTIME)
LIBRARIES = "libraries of one CPU level"
KOKORO_ONNX = "kokoro-onnx"
"""A client that streams, on ONNX Runtime; measured beside the bundle's own stream."""
NAMES = {BUNDLE: "bundle", PYTORCH: "PyTorch", ONNXRUNTIME: "ONNX Runtime", KOKORO_ONNX: "kokoro-onnx"}


@dataclass(frozen=True)
class Timing:
    """One engine at one length and number of threads."""

    engine: str
    threads: int
    tokens: int
    audio_seconds: float
    """Length of the audio."""
    seconds: tuple[float, ...]
    """From phonemes to samples, warm, one for each round."""

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
    """One client that speaks a long text piece by piece, in each round in the same process."""

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
class Peak:
    """The best multiply-add rate of this machine."""

    threads: int
    gflops: float


@dataclass(frozen=True)
class KernelTime:
    """All calls of one kernel within one stage."""

    stage: str
    kernel: str
    family: str
    calls: int
    seconds: float
    gflop: float | None
    """Operations of the direct computation in PyTorch; None if they are not counted for this kernel."""
    real_gmul: float
    """Multiplications that the kernel makes, in 1e9; half of `gflop` unless a transform saves some."""
    gb: float
    """Arguments, each counted once, in 1e9 bytes."""


@dataclass(frozen=True)
class StageTime:
    """One stage, with and without the hook between its kernels."""

    stage: str
    seconds: float
    """Without the hook."""
    hooked_seconds: float
    """From the first call that the hook sees to the last."""
    kernel_seconds: float
    """Within kernels."""


@dataclass(frozen=True)
class Profile:
    """Where the time of one utterance goes, medians of several runs."""

    tokens: int
    threads: int
    rounds: int
    audio_seconds: float
    seconds: float
    """The whole utterance without the hook."""
    stages: tuple[StageTime, ...]
    kernels: tuple[KernelTime, ...]


@dataclass(frozen=True)
class Benchmark:
    """All figures of one run of the benchmark."""

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
    peaks: tuple[Peak, ...]
    idle_share: float
    """The most CPU time that any engine used while another one ran, over that time."""
    busy_before: float
    """Cores that other processes used before the measurement."""
    busy_after: float
    export_seconds: float | None = None
    profile: Profile | None = None
    streams: tuple[StreamTiming, ...] = ()

    @property
    def most_threads(self) -> int:
        """The number of threads that the goals are about."""
        return max(self.threads)

    def timing(self, engine: str, tokens: int, threads: int | None = None) -> Timing | None:
        """Returns the timing of an engine at a length, by default on the most threads."""
        wanted = (engine, tokens, threads or self.most_threads)
        found = (each for each in self.timings if (each.engine, each.tokens, each.threads) == wanted)
        return next(found, None)

    def peak(self, threads: int | None = None) -> float | None:
        """Returns the GFLOP/s of the machine, by default on the most threads."""
        wanted = threads or self.most_threads
        return next((each.gflops for each in self.peaks if each.threads == wanted), None)


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Returns the quotient, or None if one of the two was not measured."""
    return None if numerator is None or denominator is None else numerator / denominator


def growth(short: Timing | None, long: Timing | None) -> float | None:
    """Returns the growth of time over that of audio: 1 if a second of audio takes as long at both lengths."""
    if short is None or long is None:
        return None
    return (long.median / short.median) / (long.audio_seconds / short.audio_seconds)


def rotated(names: Sequence[str], rounds: int) -> tuple[tuple[str, ...], ...]:
    """Returns the order of each round: every name once, each round beginning with the next name."""
    return tuple(
        tuple(names[(start + place) % len(names)] for place in range(len(names))) for start in range(rounds)
    )
