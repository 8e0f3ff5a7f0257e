"""The plot of a comparison: seconds of computing for a second of audio over the length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.results import ENGINES, ONNXRUNTIME, PYTORCH, Comparison
from exporter.measure.engine import BUNDLE
from exporter.plotting import BLUE, GREEN, ORANGE, as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES: dict[str, dict[str, Any]] = {
    BUNDLE: {"color": BLUE, "marker": "o"},
    PYTORCH: {"color": ORANGE, "marker": "s"},
    ONNXRUNTIME: {"color": GREEN, "marker": "^"},
}
"""Colours and shapes by which the engines can be told apart, one of the two being enough."""


def plot(comparison: Comparison) -> str:
    """Returns an SVG document with a line for each engine, measured on the most threads."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for engine in ENGINES:
            timings = [comparison.timing(engine, tokens) for tokens in sorted(comparison.tokens)]
            points = [(timing.tokens, timing.rate) for timing in timings if timing is not None]
            if points:
                axes.plot(*zip(*points, strict=True), label=comparison.names[engine], **_LINES[engine])
        axes.set_title(
            "seconds of computing for a second of audio; "
            f"threads: {comparison.most_threads}, medians of {comparison.rounds} rounds"
        )
        axes.set_xscale("log")
        axes.set_xticks(comparison.tokens, list(map(str, comparison.tokens)))
        axes.minorticks_off()
        axes.set_xlabel("tokens")
        axes.set_ylim(bottom=0)
        axes.legend()

    return as_svg(8.0, 4.5, draw)
