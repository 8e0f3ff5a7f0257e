"""The figures of a comparison, and their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.compiler.precision import PRECISIONS
from exporter.compiler.targets import ARITHMETICS
from exporter.measure.engine import BUNDLE
from exporter.measure.results import Benchmark, Timing

PYTORCH, PYTORCH_BFLOAT16 = "pytorch", "pytorch-bfloat16"
ONNXRUNTIME, ONNXRUNTIME_INT8 = "onnxruntime", "onnxruntime-int8"
ENGINES = (BUNDLE, PYTORCH, ONNXRUNTIME)
"""The engines of the goals."""
LIBKOKORO, SHERPA = "libkokoro", "sherpa-onnx"
"""Engines in C: the bundle of the goals, and kokoro."""
KOKORO_ONNX = "kokoro-onnx"
"""A client that streams, on ONNX Runtime; measured beside the bundle's own stream."""
NAMES = {
    BUNDLE: "bundle",
    **{f"{BUNDLE}-{kind}": f"bundle, {kind}" for kind in (*PRECISIONS, *ARITHMETICS)},
    PYTORCH: "PyTorch",
    PYTORCH_BFLOAT16: "PyTorch, bfloat16",
    ONNXRUNTIME: "ONNX Runtime",
    ONNXRUNTIME_INT8: "ONNX Runtime, int8",
    LIBKOKORO: LIBKOKORO,
    SHERPA: SHERPA,
    KOKORO_ONNX: KOKORO_ONNX,
}
"""Names of the engines for the reader; the bundle without a precision is that of the goals."""


@dataclass(frozen=True)
class Peak:
    """The best multiply-add rate of this machine."""

    threads: int
    gflops: float


@dataclass(frozen=True)
class Quality:
    """The distance of an engine's speech from PyTorch's, mean over the utterances."""

    engine: str
    moved: float
    """Share of the tokens whose duration differs."""
    log_mel: float
    """Log-mel distance over the distance of PyTorch to itself with other noise."""


@dataclass(frozen=True)
class Footprint:
    """The size of the files that an app ships, and the memory of a second process on them."""

    engine: str
    bytes: int
    """Size of the model's files."""
    library_bytes: int | None
    """Size of the engine's libraries; None if they are packages of Python."""
    resident: int
    """Resident bytes of the second process."""
    second_process: int
    """The resident bytes that it does not share."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Benchmark):
    """All figures of one run, including those of the competitors."""

    precision: str
    """Precision of the bundle of the goals."""
    peaks: tuple[Peak, ...]
    quality: tuple[Quality, ...]
    footprints: tuple[Footprint, ...]
    idle_share: float
    """The most CPU time that any engine used while another one ran, over that time."""
    export_seconds: float | None = None

    @property
    def names(self) -> dict[str, str]:
        """Names of the engines, the bundle's with its precision."""
        return NAMES | {BUNDLE: f"{NAMES[BUNDLE]}, {self.precision}"}

    def peak(self, threads: int) -> float | None:
        """Returns the GFLOP/s of the machine, or None if they were not measured."""
        return next((each.gflops for each in self.peaks if each.threads == threads), None)


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Returns the quotient, or None if one of the two was not measured."""
    return None if numerator is None or denominator is None else numerator / denominator


def growth(short: Timing | None, long: Timing | None) -> float | None:
    """Returns the growth of time over that of audio: 1 if a second of audio takes equally long at both."""
    if short is None or long is None:
        return None
    return (long.median / short.median) / (long.audio_seconds / short.audio_seconds)


def rotated(names: Sequence[str], rounds: int) -> tuple[tuple[str, ...], ...]:
    """Returns the order of each round: every name once, each round beginning with the next name."""
    return tuple(
        tuple(names[(start + place) % len(names)] for place in range(len(names))) for start in range(rounds)
    )
