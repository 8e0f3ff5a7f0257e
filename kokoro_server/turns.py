"""A bounded queue in which requests take turns: after one piece of a request, the next request is served."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from . import metrics
from .errors import RequestError

Piece = TypeVar("Piece")

LONGEST_RETRY = 60
"""Seconds; clients may not retry at all after longer ones."""


class Turns:
    """Computes pieces of many requests, a few at a time, in the order in which they were asked for.

    A request asks for its next piece when its client has taken the last one. So no request waits for more
    than one piece of each other request, and a slow client delays nobody.
    """

    def __init__(self, slots: int, longest_queue: int) -> None:
        """Takes how many pieces are computed at a time, and how many may wait before requests are refused."""
        self._slots = slots
        self._longest_queue = longest_queue
        self._executor = ThreadPoolExecutor(slots, "synthesis")
        self._waiting = 0
        """Pieces that wait or are being computed."""
        self._seconds = 1.0
        """Time of a piece, as a moving average."""

    async def take(self, pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
        """Yields the pieces of a request, each computed in its turn on a thread of the pool.

        Raises:
            RequestError: the queue is full when the first piece is asked for; with the seconds in which there
                will be room.
        """
        self._check_room()
        while (piece := await self._next(pieces)) is not None:
            yield piece

    def _check_room(self) -> None:
        if self._waiting >= self._longest_queue:
            seconds = min(LONGEST_RETRY, math.ceil(self._waiting * self._seconds / self._slots))
            raise RequestError(
                503,
                f"{self._waiting} requests are waiting: try again in {seconds} s.",
                code="overloaded",
                headers={"Retry-After": str(seconds)},
            )

    async def _next(self, pieces: Iterator[Piece]) -> Piece | None:
        self._waiting += 1
        metrics.WAITING.inc()
        try:
            # Cancelled while it waits, it is never computed.
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._timed, pieces)
        finally:
            self._waiting -= 1
            metrics.WAITING.dec()

    def _timed(self, pieces: Iterator[Piece]) -> Piece | None:
        start = time.monotonic()
        try:
            return next(pieces, None)
        finally:
            self._seconds += 0.1 * (time.monotonic() - start - self._seconds)

    def close(self) -> None:
        """Waits for the pieces that are being computed; those that wait are dropped."""
        self._executor.shutdown(cancel_futures=True)
