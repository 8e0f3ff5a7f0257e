"""The results of validation: differences of arrays, steps of an utterance, tables of experiments.

Everything else in this package either makes these values or shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exporter.reference.traces import Array
from exporter.reference.utterances import Utterance
from runtime_min.model.distances import Figure, snr

DYNAMIC = "pt.dynamic"
"""`KModel` as its users run it: the reference of every comparison."""
STATIC = "pt.static"
"""`KModel` padded to a bucket, as a naive port runs it."""
BUNDLE = "bundle"
"""The bundle's own chain: each stage on the outputs of the bundle's stages before it."""
EQUAL = "bundle, equal inputs"
"""A step of the bundle on pt.dynamic's inputs of that very step: says whether the step itself is at fault."""


@dataclass(frozen=True)
class Difference:
    """The difference of an array from pt.dynamic's, on the valid prefix."""

    maximum: float
    """Greatest absolute difference."""
    relative: float
    """Greatest absolute difference over the RMS of the reference."""
    decibels: float
    """Signal-to-noise ratio; infinite where both are equal."""
    correlation: float
    """Pearson's; 1 where both are equal and constant."""
    by_time: NDArray[np.float64]
    """RMS of the difference over the RMS of the whole reference, [tokens or frames]."""
    first_over: int | None
    """First token or frame at which `by_time` is over the limit."""
    finite: bool
    """True if every value is a number."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared."""

    name: str
    stage: str
    """Stage of the bundle that computes it."""
    axis: str
    """Last axis of the arrays: ``tokens`` or ``frames``."""
    per_length: int = 1
    """Elements of the last axis for each token or frame."""


@dataclass(frozen=True, kw_only=True)
class Step(Quantity):
    """One quantity on the way from tokens to audio, in every execution."""

    reference: Array
    """Array of pt.dynamic, ``[1, ..., length * per_length]``, perhaps one more (a spectrum's last column)."""
    values: Mapping[str, Array]
    """Array of each execution (`EQUAL`, `BUNDLE`, `STATIC`) on the valid prefix."""
    differences: Mapping[str, Difference]
    """Difference of each execution from `reference`."""
    own: Mapping[str, float] = field(default_factory=dict)
    """Decibels of pt.dynamic against itself for each change (of threads, F0, seed, precision)."""
    figures: tuple[Figure, ...] = ()
    """The judged numbers of `EQUAL`, each with its limit."""

    @property
    def holds(self) -> bool:
        """True if every judged number is within its limit."""
        return all(figure.holds for figure in self.figures)


@dataclass(frozen=True)
class Series:
    """A line of a plot."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Plot:
    """Lines over a common axis."""

    x_label: str
    y_label: str
    series: tuple[Series, ...]
    logarithmic_x: bool = False


@dataclass(frozen=True)
class Table:
    """The outcome of an experiment: rows, a sentence that interprets them, and perhaps a plot."""

    title: str
    conclusion: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    marked: int | None = None
    """The row to look at first."""
    plot: Plot | None = None
    holds: bool = True
    """True if the bundle passed the experiment, or if the experiment judges nothing."""


@dataclass(frozen=True)
class SpokenSteps:
    """Everything that one utterance showed."""

    utterance: Utterance
    tokens: int
    frames: int
    steps: tuple[Step, ...]
    chain: tuple[Figure, ...]
    """The judged numbers of the whole chain: durations, distance over own spread, log-mel."""
    tables: tuple[Table, ...] = ()
    """Probes and experiments."""

    @property
    def worst(self) -> Step:
        """The first step that misses a limit; if none does, the one nearest to its limit."""
        return next((step for step in self.steps if not step.holds), max(self.steps, key=_nearness))

    @property
    def holds(self) -> bool:
        """True if every step, the chain and every experiment passed."""
        parts: tuple[Step | Figure | Table, ...] = (*self.steps, *self.chain, *self.tables)
        return all(part.holds for part in parts)


@dataclass(frozen=True)
class Report:
    """One run of ``kokoro-export validate steps``."""

    bundle: str
    """Path of the bundle."""
    facts: Mapping[str, str]
    """Facts of the comparison: model, CPU level, versions, static lengths."""
    utterances: tuple[SpokenSteps, ...]

    @property
    def holds(self) -> bool:
        """True if every utterance passed."""
        return all(spoken.holds for spoken in self.utterances)


def difference(values: Array, reference: Array, per_length: int = 1, limit: float = np.inf) -> Difference:
    """Measures how far `values` are from `reference`.

    Args:
        values: same shape as `reference`.
        reference: [..., length * per_length], or one column more.
        per_length: elements of the last axis for each token or frame.
        limit: for `first_over`, over the RMS of the reference.
    """
    wide = reference.astype(np.float64)
    error = np.abs(values - wide)  # what is not a number stays so
    scale = float(np.sqrt(np.square(wide).mean())) or 1.0
    by_time = _by_time(error, per_length) / scale
    over = np.flatnonzero(~(by_time <= limit))
    return Difference(
        maximum=float(error.max()),
        relative=float(error.max()) / scale,
        decibels=snr(values, reference) if error.any() else np.inf,
        correlation=_correlation(values, wide),
        by_time=by_time,
        first_over=int(over[0]) if over.size else None,
        finite=bool(np.isfinite(values).all()),
    )


def _by_time(error: NDArray[np.float64], per_length: int) -> NDArray[np.float64]:
    length = error.shape[-1] // per_length
    rows = error.reshape(-1, error.shape[-1])[:, : length * per_length]
    return np.asarray(np.sqrt(np.square(rows).reshape(-1, length, per_length).mean(axis=(0, 2))))


def _correlation(values: Array, reference: NDArray[np.float64]) -> float:
    if np.array_equal(values, reference):
        return 1.0
    one, other = values.astype(np.float64).reshape(-1), reference.reshape(-1)
    one, other = one - one.mean(), other - other.mean()
    power = float(np.sqrt(np.square(one).sum() * np.square(other).sum()))
    return float(one @ other) / power if power else 0.0


def _nearness(step: Step) -> float:
    """Returns the share of its limit that the worst figure of a step reaches; 1 is the limit."""
    return max((share(figure) for figure in step.figures), default=0.0)


def share(figure: Figure) -> float:
    """Returns the share of its limit that a figure reaches; 1 is the limit, infinity is for NaN."""
    if figure.holds and not np.isfinite(figure.value):
        return 0.0
    if np.isnan(figure.value):
        return np.inf
    if figure.at_least:
        return float(10 ** ((figure.limit - figure.value) / 20))  # limits below are in decibels
    return figure.value / figure.limit if figure.limit else float(figure.value > 0)
