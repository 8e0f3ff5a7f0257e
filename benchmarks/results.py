"""The figures of a comparison, and their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.bench.engine import BUNDLE
from exporter.bench.results import Benchmark, Timing

PYTORCH, ONNXRUNTIME = "pytorch", "onnxruntime"
ENGINES = (BUNDLE, PYTORCH, ONNXRUNTIME)
KOKORO_ONNX = "kokoro-onnx"
"""A client that streams, on ONNX Runtime; measured beside the bundle's own stream."""
NAMES = {BUNDLE: "bundle", PYTORCH: "PyTorch", ONNXRUNTIME: "ONNX Runtime", KOKORO_ONNX: "kokoro-onnx"}


@dataclass(frozen=True)
class Peak:
    """The best multiply-add rate of this machine."""

    threads: int
    gflops: float


@dataclass(frozen=True, kw_only=True)
class Comparison(Benchmark):
    """All figures of one run, those of the competitors among them."""

    peaks: tuple[Peak, ...]
    idle_share: float
    """The most CPU time that any engine used while another one ran, over that time."""
    export_seconds: float | None = None

    def peak(self, threads: int) -> float | None:
        """Returns the GFLOP/s of the machine, or None if they were not measured."""
        return next((each.gflops for each in self.peaks if each.threads == threads), None)


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
