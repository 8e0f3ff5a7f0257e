"""Pauses within a text: ``Wait. [pause:0.5s] Now!``."""

from __future__ import annotations

import re
from dataclasses import replace

from ..errors import MarkupError
from ..speech.request import LONGEST_PAUSE
from ..speech.words import Segment

PAUSE = re.compile(r"\[pause:([^][\n]{1,20})\]")
_DURATION = re.compile(r"([0-9]{0,6}(?:\.[0-9]{1,6})?)(ms|s)")


def read_pauses(segment: Segment) -> list[Segment]:
    """Returns the segments between the pauses of one segment of text; each has the pause after it.

    A pause before all text has no effect.

    Raises:
        MarkupError: a pause is not such as ``0.5s`` or ``500ms``, or is longer than a minute.
    """
    parts = PAUSE.split(str(segment.content))
    segments: list[Segment] = []
    for text, pause in zip(parts[::2], [*parts[1::2], None], strict=True):
        if text.strip():
            segments.append(replace(segment, content=text, pause=0.0))
        duration = 0.0 if pause is None else seconds(pause)
        if segments:
            segments[-1] = longer_pause(segments[-1], duration)
    if segments:
        segments[-1] = longer_pause(segments[-1], segment.pause)
    return segments or [replace(segment, content="".join(parts[::2]))]


def longer_pause(segment: Segment, pause: float) -> Segment:
    """Returns a segment with at least this pause after it."""
    return replace(segment, pause=max(segment.pause, pause))


def seconds(written: str) -> float:
    """Returns a duration such as ``0.5s`` or ``500ms`` in seconds.

    Raises:
        MarkupError: it is written in another way, or longer than `LONGEST_PAUSE`.
    """
    found = _DURATION.fullmatch(written.strip())
    if found and found[1]:
        duration = float(found[1]) / (1_000 if found[2] == "ms" else 1)
        if duration <= LONGEST_PAUSE:
            return duration
    raise MarkupError(
        f"The pause {written!r:.60} is wrong: expected 0s to {LONGEST_PAUSE:g}s, such as 0.5s or 500ms."
    )
