"""Plots for reports: figures of matplotlib as SVG that follows the reader's light or dark theme.

matplotlib is imported with the first plot. It needs neither a display nor a home directory.
"""

from __future__ import annotations

import io
import logging
import re
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT, RULE = "#1f2328", "#5c6470", "#e6e4df"
"""Text, axes and grid."""
GREY, BLUE, GREEN, ORANGE, PINK, YELLOW = "#8b929c", "#0072b2", "#009e73", "#d55e00", "#cc79a7", "#a88800"
"""Lines, after Okabe and Ito: people with any colour vision can tell them apart."""

_DARK = {
    **{INK: "#e4e6e9", SOFT: "#a3aab4", RULE: "#2c3036"},
    **{GREY: "#979ea8", BLUE: "#56b4e9", GREEN: "#26c295"},
    **{ORANGE: "#f08a3c", PINK: "#d99abd", YELLOW: "#e6c84a"},
}
"""The colour in a dark theme of each colour in a light one."""
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": RULE,
    "axes.grid": True,
    "axes.labelcolor": SOFT,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titley": 1.0,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": RULE,
    "legend.frameon": False,
    "legend.labelcolor": SOFT,
    "lines.linewidth": 1.4,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "kokoro-export",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": RULE,
    "xtick.labelcolor": SOFT,
    "ytick.color": RULE,
    "ytick.labelcolor": SOFT,
}


def as_svg(width: float, height: float, draw: Callable[[Figure], None]) -> str:
    """Returns a figure as an SVG document, the same for the same figure.

    Args:
        width: in inches of 72 points.
        height: in the same inches.
        draw: fills the empty figure; it may use the colours of this module.
    """
    # Without a writable home directory matplotlib warns, and takes a temporary one.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure((width, height), layout="constrained")
        draw(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Creator": None, "Date": None})
    return _themed(file.getvalue())


def data_uri(svg: str) -> str:
    """Returns an SVG document as the address of an image."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def _themed(svg: str) -> str:
    """Replaces colours by variables that depend on the theme, and shortens numbers and fonts."""
    names = {light: f"--colour-{number}" for number, light in enumerate(_DARK)}
    light = "".join(f"{name}:{colour};" for colour, name in names.items())
    dark = "".join(f"{name}:{_DARK[colour]};" for colour, name in names.items())
    style = f"<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    svg = re.sub("|".join(names), lambda found: f"var({names[found[0]]})", svg)
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg)
    svg = re.sub(r"(font: [\d.]+px) [^;\"]*", r"\1 system-ui, sans-serif", svg)
    return re.sub(r"(<svg [^>]*>)", lambda found: found[0] + style, svg, count=1)
