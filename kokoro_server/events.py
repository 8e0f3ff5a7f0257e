"""Reads Wyoming's events: announced sizes are compared with a limit before anything is read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from wyoming.event import Event

_KINDS: dict[type, str] = {dict: "an object", list: "a list", type(None): "nothing"}


class EventError(Exception):
    """A message that is refused; the message after it can be read."""


class FramingError(Exception):
    """A message that is refused and whose end is unknown, so that nothing after it can be read."""


async def read_event(reader: asyncio.StreamReader, most: int) -> Event | None:
    """Returns the next event, or None at the end of the connection.

    A message is a line with a JSON object, then ``data_length`` bytes with another one, which adds to the
    ``data`` of the line, then ``payload_length`` bytes of any kind.

    Args:
        reader: the connection; its own limit, ``most`` or less, is that of a line.
        most: largest size of a whole message, in bytes.

    Raises:
        FramingError: the line is no JSON object, a length is wrong, or the connection ends in the message.
        EventError: the message is whole, but what it contains is no event.
    """
    line = await _line(reader)
    if not line:
        return None
    header = _object(line, "a line", FramingError)
    lengths = [_length(header, name, most) for name in ("data_length", "payload_length")]
    size = len(line) + sum(lengths)
    if size > most:
        raise FramingError(f"Expected a message of at most {most} bytes, found {size}.")
    try:
        added, payload = [await reader.readexactly(length) for length in lengths]
    except asyncio.IncompleteReadError as error:
        raise FramingError(
            f"Expected {error.expected} bytes after the line, found the end after {len(error.partial)}."
        ) from error
    kind, data = header.get("type"), header.get("data", {})
    if not isinstance(kind, str):
        raise EventError(f"Expected type to be a string, found {shown(kind)}.")
    if not isinstance(data, dict):
        raise EventError(f"Expected data to be an object, found {shown(data)}.")
    if added:
        data = {**data, **_object(added, "data", EventError)}
    return Event(kind, data, payload or None)


def shown(value: object) -> str:
    """Returns a few characters that show a value of JSON, or the kind of a large value."""
    return _KINDS.get(type(value)) or json.dumps(value)[:80]


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Returns a line with its end; nothing at the end of the connection."""
    try:
        return await reader.readuntil()
    except asyncio.LimitOverrunError as error:
        raise FramingError(f"Expected a line, found none in the first {error.consumed} bytes.") from error
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise FramingError("Expected a whole line, found the end of the connection.") from error
        return b""


def _object(content: bytes, name: str, refusal: type[Exception]) -> dict[str, Any]:
    try:
        found = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise refusal(f"Expected {name} with a JSON object in UTF-8: {error}.") from error
    if not isinstance(found, dict):
        raise refusal(f"Expected {name} with a JSON object, found {shown(found)}.")
    return found


def _length(header: dict[str, Any], name: str, most: int) -> int:
    length = header.get(name)
    if length is None:
        return 0
    # True is an int, too.
    if type(length) is not int or not 0 <= length <= most:
        raise FramingError(f"Expected {name} to be a whole number from 0 to {most}, found {shown(length)}.")
    return length
