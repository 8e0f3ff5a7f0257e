"""A log that a client cannot fill: a warning that repeats is logged once, and then counted."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

COUNT_SECONDS = 30.0
"""Time between two lines that tell how often a warning repeated."""
LOGGERS = ("asyncio", "uvicorn.error")


class Repetitions(logging.Filter):
    """Passes the first of equal warnings, and counts the others until they are reported.

    Warnings are equal if they have the same format, up to its first line, and the same type of exception.
    """

    def __init__(self) -> None:
        """Begins with none."""
        super().__init__()
        self._repeated: dict[object, tuple[int, logging.LogRecord]] = {}
        """Number of repetitions of each kind of warning, and its last record."""
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether the record is the first of its kind, or no warning."""
        if record.levelno < logging.WARNING or hasattr(record, "repetitions"):
            return True
        kind = record.name, record.levelno, _first_line(record.msg), record.exc_info and record.exc_info[0]
        with self._lock:
            count = self._repeated[kind][0] + 1 if kind in self._repeated else 0
            self._repeated[kind] = count, record
        return count == 0

    def report(self) -> None:
        """Logs the number of repetitions since the last report, and forgets warnings without any."""
        with self._lock:
            repeated = {kind: held for kind, held in self._repeated.items() if held[0]}
            self._repeated = {kind: (0, record) for kind, (_, record) in repeated.items()}
        for count, record in repeated.values():
            text = f"{count} times more, the last time with: {_first_line(record.getMessage())}"
            logging.getLogger(record.name).log(record.levelno, "%s", text, extra={"repetitions": count})


def _first_line(text: object) -> str:
    return str(text).partition("\n")[0]


@asynccontextmanager
async def counting_repetitions() -> AsyncIterator[None]:
    """Counts the repeated warnings of uvicorn, asyncio and the server until the end of ``async with``."""
    repetitions = Repetitions()

    async def report() -> None:
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            repetitions.report()

    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(repetitions)
    reporting = asyncio.create_task(report())
    try:
        yield
    finally:
        reporting.cancel()
        for logger in loggers:
            logger.removeFilter(repetitions)
        repetitions.report()
