"""The report's page: one file that needs nothing else, for light and dark, desk and phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exporter.validate.report import plots, text
from exporter.validate.results import BUNDLE, DYNAMIC, EQUAL, STATIC, Report, share
from runtime_min.format.signatures import FRAMES_PER_SECOND

_CLASSES = {DYNAMIC: "reference", EQUAL: "equal", BUNDLE: "bundle", STATIC: "static"}
"""Classes of the style sheet by execution."""


def page(report: Report, audio: Sequence[Mapping[str, str]]) -> str:
    """Returns the whole page.

    Args:
        report: the results of validation.
        audio: the paths of each utterance's audio files, by execution.
    """
    environment = Environment(
        loader=PackageLoader("exporter.validate.report", "data"),
        autoescape=True,
        finalize=_printable,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    template = environment.get_template("report.html")
    written = template.render(
        report=report,
        audio=audio,
        plots=plots,
        share=share,
        text=text,
        bundle=BUNDLE,
        equal=EQUAL,
        static=STATIC,
        classes=_CLASSES,
        frames_per_second=FRAMES_PER_SECOND,
    )
    return written.lstrip()


def _printable(value: Any) -> Any:
    """Returns a text without control characters; what the template itself has made stays as it is."""
    return text.one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value
