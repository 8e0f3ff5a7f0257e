"""A client that sends any bytes to a Wyoming port, and reads events with the wyoming package."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wyoming.error import Error
from wyoming.event import Event, read_event

DESCRIBE = b'{"type": "describe"}\n'
SECONDS = 20.0
"""Time after which a server that does not answer has failed."""


def message(header: object, data: bytes = b"", payload: bytes = b"") -> bytes:
    """Returns a message whose lengths, if the header has none of its own, are right."""
    if isinstance(header, dict):
        lengths = {"data_length": len(data), "payload_length": len(payload)}
        header = {**{name: length for name, length in lengths.items() if length}, **header}
    return json.dumps(header).encode() + b"\n" + data + payload


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        yield connection


def answers(port: int, sent: bytes) -> list[Event]:
    """Sends bytes and their end; returns the events until the server closes the connection in good order."""
    with connected(port) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return list(events(connection))


def events(connection: socket.socket) -> Iterator[Event]:
    """Yields events until the end of the connection."""
    with connection.makefile("rb") as file:
        while (event := read_event(file)) is not None:
            yield event
        assert file.read() == b""


def error_of(event: Event) -> str:
    """Returns the text of an `error` event; another one fails."""
    assert event.type == "error", event
    return Error.from_event(event).text


@contextmanager
def logged() -> Iterator[list[logging.LogRecord]]:
    """Collects what a server in this process wants to log, and the exceptions that nobody handled."""
    records: list[logging.LogRecord] = []
    made = logging.getLogRecordFactory()

    def noted(*arguments: Any, **named: Any) -> logging.LogRecord:
        record = made(*arguments, **named)
        if record.name in ("uvicorn.error", "asyncio"):
            records.append(record)
        return record

    # A handler would not see what a filter holds back.
    logging.setLogRecordFactory(noted)
    try:
        yield records
    finally:
        logging.setLogRecordFactory(made)
