"""The plot of a report: seconds for a second of audio over the length, one line for each engine.

An SVG file that stands alone: it follows the reader's light or dark theme by itself. The colours are of Okabe
and Ito's palette, which the colour-blind can tell apart, and each engine has a marker of its own shape.
"""

from __future__ import annotations

from html import escape

import numpy as np

from exporter.bench.results import ENGINES, NAMES, Report, Timing
from exporter.validate.report.plots import Axis

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 130, 44, 48
_MARKERS = {
    "bundle": '<circle cx="{x}" cy="{y}" r="5"/>',
    "pytorch": '<path d="M{x} {y}m-5 -5h10v10h-10z"/>',
    "onnxruntime": '<path d="M{x} {y}m0 -6l6 11h-12z"/>',
}
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #333 }
.title { font-weight: 600 }
.grid { stroke: #ddd; fill: none }
.line { fill: none; stroke-width: 2.5 }
.bundle { color: #0072b2 } .pytorch { color: #d55e00 } .onnxruntime { color: #009e73 }
.line { stroke: currentColor } .mark, .name { fill: currentColor }
@media (prefers-color-scheme: dark) {
  text { fill: #ccc } .grid { stroke: #444 }
  .bundle { color: #56b4e9 } .pytorch { color: #e69f00 } .onnxruntime { color: #2bc79b }
}
"""


def as_svg(report: Report) -> str:
    """The plot of the timings on the most threads."""
    lengths = sorted(report.tokens)
    lines = {
        engine: found
        for engine in ENGINES
        if (found := [each for tokens in lengths if (each := report.timing(engine, tokens))])
    }
    highest = max((each.rate for found in lines.values() for each in found), default=1.0)
    x_axis = Axis("tokens", lengths[0] * 0.85, lengths[-1] * 1.15, True, tuple(map(float, lengths)))
    y_axis = Axis("seconds of computing for a second of audio", 0.0, highest * 1.12)
    title = f"{y_axis.label}; threads: {report.most_threads}, medians of {report.rounds} rounds"
    parts = [_grid(x_axis, y_axis), *_names(lines, y_axis)]
    parts += [_line(engine, found, x_axis, y_axis) for engine, found in reversed(lines.items())]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<text class="title" x="{_LEFT}" y="22">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _x(axis: Axis, value: float) -> float:
    return _LEFT + float(axis.place(np.array(value))) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - float(axis.place(np.array(value))) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(x_axis: Axis, y_axis: Axis) -> str:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    drawn = []
    for place, label in y_axis.labels():
        y = bottom - place * (bottom - _TOP)
        drawn.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        drawn.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for place, label in x_axis.labels():
        x = _LEFT + place * (right - _LEFT)
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{label}</text>')
    middle = (_LEFT + right) / 2
    drawn.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{x_axis.label}</text>')
    return "".join(drawn)


def _line(engine: str, timings: list[Timing], x_axis: Axis, y_axis: Axis) -> str:
    points = [(_x(x_axis, each.tokens), _y(y_axis, each.rate)) for each in timings]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    marks = "".join(_MARKERS[engine].format(x=f"{x:.1f}", y=f"{y:.1f}") for x, y in points)
    return f'<g class="{engine}"><path class="line" d="M{path}"/><g class="mark">{marks}</g></g>'


def _names(lines: dict[str, list[Timing]], y_axis: Axis) -> list[str]:
    """The engines' names at the ends of their lines, moved apart where they would lie on each other."""
    ends = sorted((_y(y_axis, found[-1].rate), engine) for engine, found in lines.items())
    drawn, lowest = [], 0.0
    for y, engine in ends:
        lowest = max(y, lowest + 18)
        drawn.append(
            f'<g class="{engine}"><text class="name" x="{_WIDTH - _RIGHT + 8}" y="{lowest + 4:.1f}">'
            f"{escape(NAMES[engine])}</text></g>"
        )
    return drawn
