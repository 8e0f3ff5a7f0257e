"""The goals of this project's speed, and which of them a run has reached."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.results import ENGINES, KOKORO_ONNX, NAMES, ONNXRUNTIME, PYTORCH, Comparison, growth, ratio
from exporter.measure.engine import BUNDLE
from exporter.measure.options import HEADLINE, LONGEST
from exporter.measure.results import LIBRARIES
from exporter.measure.tables import mebibytes

MIB = 1 << 20
SHORT = 12
_LENGTHS = (HEADLINE, SHORT, 200, LONGEST)
Format = Callable[[float], str]


@dataclass(frozen=True)
class Goal:
    """A figure of the bundle beside those of other engines, and the values that it is to reach."""

    figure: str
    values: Mapping[str, float]
    """Figure of each engine that was measured."""
    written: Format
    """Returns a value as text."""
    at_least: float
    goal: float
    peer: str | None = None
    """The engine whose value divides the bundle's; None if the bundle's value itself is judged."""

    @property
    def judged(self) -> float | None:
        """The number that is compared with the goals; None if it was not measured."""
        value = self.values.get(BUNDLE)
        return value if self.peer is None else ratio(value, self.values.get(self.peer))

    @property
    def ratio(self) -> float | None:
        """The bundle's value over the peer's, by default ONNX Runtime's."""
        return ratio(self.values.get(BUNDLE), self.values.get(self.peer or ONNXRUNTIME))

    @property
    def reached(self) -> str | None:
        """``goal``, ``at least`` or ``no``; None if it was not measured."""
        if self.judged is None:
            return None
        return "goal" if self.judged <= self.goal else "at least" if self.judged <= self.at_least else "no"


def goals(comparison: Comparison) -> tuple[Goal, ...]:
    """Returns every goal, measured or not; timings are of the greatest number of threads."""
    return (*_rates(comparison), *_others(comparison))


def stream_goals(comparison: Comparison) -> tuple[Goal, ...]:
    """Returns the goals of a long text beside kokoro-onnx; none if that was not measured."""
    streams = comparison.streams
    if not streams:
        return ()
    first = {each.engine: statistics.median(each.first) for each in streams}
    whole = {each.engine: statistics.median(each.seconds) for each in streams}
    peaks = {each.engine: float(each.bytes) for each in streams}
    return (
        Goal("first audio, warm", first, "{:.3f} s".format, 0.5, 0.5, KOKORO_ONNX),
        Goal("whole text", whole, "{:.3f} s".format, 0.5, 0.5, KOKORO_ONNX),
        Goal("peak memory", peaks, mebibytes, 1.0, 1.0, KOKORO_ONNX),
    )


def _rates(comparison: Comparison) -> Iterator[Goal]:
    for tokens in _LENGTHS:
        found = ((name, comparison.timing(name, tokens)) for name in ENGINES)
        rates = {name: timing.rate for name, timing in found if timing is not None}
        figure = f"time at {tokens} tokens"
        limits = (0.36, 0.33) if tokens == SHORT else (0.28, 0.25)
        yield Goal(f"{figure} ÷ {NAMES[ONNXRUNTIME]}", rates, "{:.3f}".format, *limits, ONNXRUNTIME)
        if tokens == HEADLINE:
            yield Goal(f"{figure} ÷ {NAMES[PYTORCH]}", rates, "{:.3f}".format, 0.3, 0.2, PYTORCH)


def _others(comparison: Comparison) -> Iterator[Goal]:
    cold = {each.engine: each.median for each in comparison.cold_starts if each.tokens == HEADLINE}
    yield Goal(f"cold start to WAV at {HEADLINE} tokens", cold, "{:.2f} s".format, 0.6, 0.6)
    for tokens, most in ((HEADLINE, 330), (LONGEST, 600)):
        peaks = {each.engine: float(each.bytes) for each in comparison.memory if each.tokens == tokens}
        yield Goal(f"peak memory at {tokens} tokens", peaks, mebibytes, most * MIB, most * MIB)
    own = {each.engine: float(each.second_process) for each in comparison.footprints}
    yield Goal("memory of a second process", own, mebibytes, 120 * MIB, 120 * MIB)
    found = ((name, comparison.timing(name, SHORT)) for name in ENGINES)
    first = {name: timing.median for name, timing in found if timing is not None}
    yield Goal(f"first audio at {SHORT} tokens, warm", first, "{:.3f} s".format, 0.07, 0.07)
    export = {} if comparison.export_seconds is None else {BUNDLE: comparison.export_seconds}
    yield Goal("export, all default buckets", export, _minutes, 600, 240)
    size = comparison.sizes.get(LIBRARIES)
    libraries = {} if size is None else {BUNDLE: float(size)}
    yield Goal("libraries of one CPU level", libraries, _megabytes, 30e6, 10e6)
    pairs = {name: (comparison.timing(name, HEADLINE), comparison.timing(name, LONGEST)) for name in ENGINES}
    measured = {name: grown for name, pair in pairs.items() if (grown := growth(*pair)) is not None}
    figure = f"growth of time, {HEADLINE} to {LONGEST} tokens ÷ growth of audio"
    yield Goal(figure, measured, "{:.2f}".format, 1.1, 1.0)


def _minutes(value: float) -> str:
    return f"{value / 60:.1f} min"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB"
