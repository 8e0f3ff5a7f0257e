"""Plots of the report's page: lines as inline SVG that stretches with the page, their labels as text.

Labels are text beside the drawing and not within it, so that a phone does not shrink them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

COLUMNS = 640
"""Horizontal resolution; what is longer is drawn as the range of its values in each column."""
_ROWS = 400
_DOTTED = 64
"""Up to this many points are also drawn as dots."""
_MOST_DECADES = 12
_CLOSEST_TICKS = 0.07


@dataclass(frozen=True)
class Line:
    """A line of a plot."""

    name: str
    kind: str
    """Class of the style sheet that gives the colour."""
    x: Values
    """Ascending."""
    y: Values


@dataclass(frozen=True)
class Axis:
    """A range of numbers."""

    label: str
    low: float
    high: float
    logarithmic: bool = False
    ticks: tuple[float, ...] = ()
    """Where labels stand; by default at round numbers."""

    def place(self, values: Values) -> Values:
        """From the range to 0..1; NaN where a value is not finite or, on a logarithmic axis, negative."""
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high, placed = (self._scale(np.asarray(each)) for each in (self.low, self.high, values))
            found = (np.maximum(placed, low) - low) / (high - low)
        return np.asarray(np.where(np.isfinite(values), found, np.nan))

    def _scale(self, values: Values) -> Values:
        return np.asarray(np.log10(values)) if self.logarithmic else values

    def labels(self) -> list[tuple[float, str]]:
        """Fraction of the range and text of each tick, none close to the one before."""
        found: list[tuple[float, str]] = []
        ticks = self.ticks or (self._decades() if self.logarithmic else self._round_numbers())
        for fraction, value in zip(self.place(np.array(ticks)).tolist(), ticks, strict=True):
            if not found or fraction - found[-1][0] >= _CLOSEST_TICKS:
                found.append((fraction, f"{value + 0.0:g}"))  # no -0
        return found

    def _decades(self) -> tuple[float, ...]:
        first, last = int(np.ceil(np.log10(self.low) - 1e-9)), int(np.floor(np.log10(self.high) + 1e-9))
        return tuple(10.0**power for power in range(first, last + 1, 1 + (last - first) // 5))

    def _round_numbers(self) -> tuple[float, ...]:
        raw = (self.high - self.low) / 5
        size = 10 ** np.floor(np.log10(raw))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * (1 - 1e-9))
        count = np.arange(np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9) + 1)
        return tuple((count * step).round(12).tolist())


def range_axis(label: str, lines: Sequence[Line]) -> Axis:
    """A linear axis that holds the finite values of all lines with a little room."""
    values = _finite(lines)
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    room = 0.06 * (high - low) or abs(high) * 0.5 or 1.0
    return Axis(label, low - room, high + room)


def decade_axis(label: str, lines: Sequence[Line], *others: float) -> Axis:
    """A logarithmic axis of whole decades that holds all positive values, the greatest of them at least."""
    values = np.concatenate([_finite(lines), np.array(others)])
    values = values[np.isfinite(values) & (values > 0)]
    if not values.size:
        return Axis(label, 1e-9, 1e-6, logarithmic=True)
    high = int(np.floor(np.log10(values.max()))) + 1
    low = max(int(np.floor(np.log10(values.min()))), high - _MOST_DECADES)
    return Axis(label, 10.0**low, 10.0**high, logarithmic=True)


def chart(
    title: str,
    lines: Sequence[Line],
    x_axis: Axis,
    y_axis: Axis,
    limit: float | None = None,
    first_over: float | None = None,
    tall: bool = False,
) -> str:
    """Lines over a common axis.

    Args:
        title: plain text.
        lines: the first on top.
        x_axis: of all lines.
        y_axis: of all lines.
        limit: where a horizontal line says "limit".
        first_over: where a vertical line stands.
        tall: whether the plot is the point of its section.
    """
    drawn = [_grid(x_axis, y_axis)]
    labels = []
    if limit is not None and limit > 0:
        height = 1 - float(y_axis.place(np.array(limit)))
        drawn.append(f'<path class="limit" d="M0 {height * _ROWS:.0f}h{COLUMNS}"/>')
        labels.append(f'<b class="limit" style="top:{100 * height:.1f}%">limit</b>')
    if first_over is not None:
        place = float(x_axis.place(np.array(first_over)))
        drawn.append(f'<path class="first" d="M{place * COLUMNS:.0f} 0v{_ROWS}"/>')
        labels.append(f'<b class="first" style="left:{100 * place:.1f}%">first over</b>')
    drawn += [_drawing(line, x_axis, y_axis) for line in reversed(lines)]
    picture = (
        f'<svg viewBox="0 0 {COLUMNS} {_ROWS}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{"".join(drawn)}</svg>'
    )
    return framed(title, picture + "".join(labels), x_axis, y_axis, legend(lines), tall)


def framed(title: str, picture: str, x_axis: Axis, y_axis: Axis, key: str = "", tall: bool = False) -> str:
    """A picture between its axes.

    Args:
        title: plain text.
        picture: HTML.
        x_axis: labelled below.
        y_axis: labelled at the left.
        key: HTML that says what is what.
        tall: whether the plot is the point of its section.
    """
    ticks = [f'<i class="x" style="left:{100 * place:.1f}%">{text}</i>' for place, text in x_axis.labels()]
    ticks += [
        f'<i class="y" style="top:{100 - 100 * place:.1f}%">{text}</i>' for place, text in y_axis.labels()
    ]
    unit = f' <span class="unit">{escape(y_axis.label)}</span>' if y_axis.label else ""
    return (
        f'<figure class="plot{" tall" if tall else ""}"><figcaption><span>{escape(title)}{unit}</span>{key}'
        f'</figcaption><div class="area">{picture}{"".join(ticks)}</div>'
        f'<div class="unit along">{escape(x_axis.label)}</div></figure>'
    )


def legend(lines: Sequence[Line]) -> str:
    """The names of the lines beside their colours."""
    names = "".join(f'<span class="key {line.kind}">{escape(line.name)}</span>' for line in lines)
    return f'<span class="keys">{names}</span>'


def _finite(lines: Sequence[Line]) -> Values:
    values = np.concatenate([line.y for line in lines]) if lines else np.empty(0)
    return np.asarray(values[np.isfinite(values)])


def _grid(x_axis: Axis, y_axis: Axis) -> str:
    rows = "".join(f"M0 {(1 - place) * _ROWS:.0f}h{COLUMNS}" for place, _ in y_axis.labels())
    columns = "".join(f"M{place * COLUMNS:.0f} 0v{_ROWS}" for place, _ in x_axis.labels())
    return f'<path class="grid" d="{rows}{columns}"/>'


def _drawing(line: Line, x_axis: Axis, y_axis: Axis) -> str:
    """A line where its values are numbers, a band where they are not."""
    x, y = x_axis.place(line.x) * COLUMNS, (1 - y_axis.place(line.y)) * _ROWS
    y = np.clip(y, -_ROWS, 2 * _ROWS)
    if x.size > 2 * COLUMNS:
        columns, starts = np.unique(np.clip(x.astype(int), 0, COLUMNS - 1), return_index=True)
        top, bottom = (edge.reduceat(y, starts) for edge in (np.fmin, np.fmax))
        middle = columns + 0.5
        shape = "".join(_envelope(middle[run], top[run], bottom[run]) for run in _runs(np.isfinite(top)))
        drawn = f'<path class="fill {line.kind}" d="{shape}"/>'
    else:
        runs = _runs(np.isfinite(y))
        drawn = f'<path class="line {line.kind}" d="{"".join(_polyline(x[run], y[run]) for run in runs)}"/>'
        if x.size <= _DOTTED:
            dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in zip(x, y, strict=True) if np.isfinite(b))
            drawn += f'<path class="dots {line.kind}" d="{dots}"/>'
    return drawn + _bands(x, ~np.isfinite(line.y))


def _runs(good: NDArray[np.bool_]) -> list[slice]:
    """Stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    return [slice(first, last) for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)]


def _polyline(x: Values, y: Values) -> str:
    """In differences of whole units, which are short to write."""
    points = list(zip(x.round().astype(int).tolist(), y.round().astype(int).tolist(), strict=True))
    steps = " ".join(f"{c - a} {d - b}" for (a, b), (c, d) in pairwise(points))
    return f"M{points[0][0]} {points[0][1]}" + (f"l{steps}" if steps else "h1")


def _envelope(x: Values, top: Values, bottom: Values) -> str:
    return _polyline(np.concatenate([x, x[::-1]]), np.concatenate([top, bottom[::-1]])) + "z"


def _bands(x: Values, bad: NDArray[np.bool_]) -> str:
    """Marks where values are not finite."""
    if not bad.any():
        return ""
    columns = np.zeros(COLUMNS, bool)
    columns[np.clip(x[bad].astype(int), 0, COLUMNS - 1)] = True
    # Few points are wider apart than a column.
    reach = max(1, COLUMNS // max(1, 2 * x.size))
    columns = np.convolve(columns, np.ones(2 * reach + 1), "same") > 0
    shape = "".join(f"M{run.start} 0h{run.stop - run.start}v{_ROWS}H{run.start}z" for run in _runs(columns))
    return f'<path class="nan" d="{shape}"><title>not finite</title></path>'
