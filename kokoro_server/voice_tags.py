"""Kokoro-FastAPI's tags in a text: ``[voice:am_adam]`` and ``[rate:0.9]`` hold until the next of their kind.

>>> read_voice_tags("Hi. [voice:Bob] [rate:0.5] Hello.", 1.0, {"Bob": Alias("am_adam", 1.5)}, ["am_adam"])
[Segment('Hi. ', None, 1.0), Segment(' Hello.', 'am_adam', 0.75)]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from runtime_min import Segment

from .errors import RequestError
from .voices import known_voice

_TAG = re.compile(r"\[(voice|rate):([^\[\]\n]{1,200})\]", re.IGNORECASE)
_LOWEST, _HIGHEST = 0.25, 4.0
_MOST_ALIASES = 100


class Alias(NamedTuple):
    """A name that a request gives a voice or a blend."""

    voice: str
    rate: float = 1.0


def read_aliases(found: Any) -> dict[str, Alias]:
    """Returns the names in the field `voice_aliases`, whose values are voices, or objects with a rate too.

    Raises:
        RequestError: it is something else.
    """
    if not isinstance(found, dict) or len(found) > _MOST_ALIASES:
        raise RequestError(
            400, f"voice_aliases must be an object of at most {_MOST_ALIASES} names.", "voice_aliases"
        )
    aliases = {}
    for name, value in found.items():
        voice, rate = (value.get("voice"), value.get("rate")) if isinstance(value, dict) else (value, None)
        rate = 1.0 if rate is None else rate
        if not isinstance(voice, str) or not isinstance(rate, (int, float)) or isinstance(rate, bool):
            message = f"voice_aliases must give {name[:80]!r} a voice, or an object with a voice and a rate."
            raise RequestError(400, message, "voice_aliases")
        aliases[name] = Alias(voice, rate)
    return aliases


def read_voice_tags(
    text: str, speed: float, aliases: Mapping[str, Alias], voices: Collection[str]
) -> list[Segment]:
    """Returns the segments between the tags of a text.

    Args:
        text: the text.
        speed: the speed of the request, which rates multiply, within the range of speeds.
        aliases: voices by the request's own names.
        voices: the bundle's.

    Raises:
        RequestError: a rate is no number above 0.
    """
    segments: list[Segment] = []
    voice, alias_rate, rate, start = None, 1.0, 1.0, 0
    for tag in [*_TAG.finditer(text), None]:
        part = text[start : tag.start() if tag else len(text)]
        if part.strip():
            spoken_speed = min(max(speed * alias_rate * rate, _LOWEST), _HIGHEST)
            segments.append(Segment(part, voice, spoken_speed))
        if tag is None:
            break
        start, value = tag.end(), tag[2].strip()
        if tag[1].lower() == "rate":
            rate = _rate(value)
        else:
            alias = aliases.get(value) or Alias(value)
            voice, alias_rate = known_voice(alias.voice, voices), alias.rate
    return segments or [Segment("")]


def _rate(value: str) -> float:
    if not re.fullmatch(r"\d{1,2}(\.\d{1,4})?", value, re.ASCII) or not float(value):
        raise RequestError(400, f"A tag [rate:] must have a number above 0, found {value[:80]!r}.", "input")
    return float(value)
