"""The goals of this project's speed, and what of them a run has reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from exporter.bench.measure import HEADLINE, LONGEST
from exporter.bench.results import (
    BUNDLE,
    ENGINES,
    LIBRARIES,
    NAMES,
    ONNXRUNTIME,
    PYTORCH,
    Report,
    growth,
    ratio,
)

MIB = 1 << 20
SHORT = 12
_LENGTHS = (HEADLINE, SHORT, 200, LONGEST)
Format = Callable[[float], str]


@dataclass(frozen=True)
class Row:
    """One figure with its goals."""

    figure: str
    values: Mapping[str, float]
    """By engine."""
    shown: Format
    """How a value, and a goal about a value, is written."""
    at_least: float
    goal: float
    peer: str | None = None
    """The goals are about the bundle's value over this engine's; None: about the bundle's value."""

    @property
    def judged(self) -> float | None:
        """What the goals are about; None where it was not measured."""
        value = self.values.get(BUNDLE)
        return value if self.peer is None else ratio(value, self.values.get(self.peer))

    @property
    def ratio(self) -> float | None:
        """The bundle's value over the peer's, by default ONNX Runtime's."""
        return ratio(self.values.get(BUNDLE), self.values.get(self.peer or ONNXRUNTIME))

    @property
    def reached(self) -> str | None:
        """``goal``, ``at least`` or ``no``; None where it was not measured."""
        if self.judged is None:
            return None
        return "goal" if self.judged <= self.goal else "at least" if self.judged <= self.at_least else "no"

    def cells(self) -> tuple[str, ...]:
        """The row as text: figure, engines, ratio, at least, goal, reached."""
        engines = (self.shown(self.values[name]) if name in self.values else "–" for name in ENGINES)
        limit: Format = self.shown if self.peer is None else "{:.2f}".format
        quotient = "–" if self.ratio is None else f"{self.ratio:.2f}"
        return (
            self.figure, *engines, quotient, limit(self.at_least), limit(self.goal), self.reached or "–"
        )  # fmt: skip


HEAD = ("figure", *(NAMES[name] for name in ENGINES), "ratio", "at least", "goal", "reached")


def rows(report: Report) -> tuple[Row, ...]:
    """Every figure that has a goal, measured or not; the timings are those of the most threads."""
    return (*_rates(report), *_others(report))


def _rates(report: Report) -> Iterator[Row]:
    for tokens in _LENGTHS:
        found = ((name, report.timing(name, tokens)) for name in ENGINES)
        rates = {name: timing.rate for name, timing in found if timing is not None}
        figure = f"time at {tokens} tokens"
        least = 0.5 if tokens == HEADLINE else 0.55
        yield Row(f"{figure} ÷ {NAMES[ONNXRUNTIME]}", rates, "{:.3f}".format, least, 0.33, ONNXRUNTIME)
        if tokens == HEADLINE:
            yield Row(f"{figure} ÷ {NAMES[PYTORCH]}", rates, "{:.3f}".format, 0.3, 0.2, PYTORCH)


def _others(report: Report) -> Iterator[Row]:
    cold = {each.engine: each.median for each in report.cold_starts if each.tokens == HEADLINE}
    yield Row(f"cold start to WAV at {HEADLINE} tokens", cold, _seconds, 1.3, 0.8)
    for tokens, least, goal in ((HEADLINE, 500, 460), (LONGEST, 850, 650)):
        peaks = {each.engine: float(each.bytes) for each in report.memory if each.tokens == tokens}
        yield Row(f"peak memory at {tokens} tokens", peaks, mebibytes, least * MIB, goal * MIB)
    found = ((name, report.timing(name, SHORT)) for name in ENGINES)
    first = {name: timing.median for name, timing in found if timing is not None}
    yield Row(f"first audio at {SHORT} tokens, warm", first, _seconds, 0.12, 0.07)
    export = {} if report.export_seconds is None else {BUNDLE: report.export_seconds}
    yield Row("export, all default buckets", export, _minutes, 600, 240)
    size = report.sizes.get(LIBRARIES)
    libraries = {} if size is None else {BUNDLE: float(size)}
    yield Row("libraries of one CPU level", libraries, _megabytes, 30e6, 10e6)
    grown = {name: growth(report.timing(name, HEADLINE), report.timing(name, LONGEST)) for name in ENGINES}
    measured = {name: value for name, value in grown.items() if value is not None}
    figure = f"growth of time, {HEADLINE} to {LONGEST} tokens ÷ growth of audio"
    yield Row(figure, measured, "{:.2f}".format, 1.1, 1.0)


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


def _minutes(value: float) -> str:
    return f"{value / 60:.1f} min"


def mebibytes(value: float) -> str:
    """A number of bytes as text."""
    return f"{value / MIB:,.0f} MiB"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB"
