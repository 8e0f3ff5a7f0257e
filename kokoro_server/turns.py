"""A bounded queue of pieces to compute: the request that was given the least audio is served next."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from . import metrics
from .errors import RequestError


class Audible(Protocol):
    """A piece of speech."""

    @property
    def seconds(self) -> float:
        """Length of the piece in seconds."""


Piece = TypeVar("Piece", bound=Audible)

LONGEST_RETRY = 60
"""Seconds; clients may not retry at all after longer ones."""
TURNS_BY_TIME = 4
"""One of so many pieces belongs to the request that has waited longest, so long answers go on."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """A piece that is to be computed."""

    pieces: Iterator[Any]
    given: float
    """Seconds of audio that its request was given before."""
    answer: asyncio.Future[Any]


class Turns:
    """Computes pieces of many requests, a few at a time.

    A request asks for its next piece when its client has taken the last one, so a client that does not read
    delays nobody. Of the requests that ask, the one that was given the least audio is served next; of equal
    ones, the first.
    """

    def __init__(self, slots: int, longest_queue: int) -> None:
        """Takes how many pieces are computed at a time, and how many may wait before requests are refused."""
        self._slots = slots
        self._longest_queue = longest_queue
        self._executor = ThreadPoolExecutor(slots, "synthesis")
        self._asking = 0
        """Pieces that wait or are being computed."""
        self._waiting: list[_Asked] = []
        """Requests that wait for a piece, in the order in which they asked."""
        self._computing: list[_Asked] = []
        self._turn = 0
        self._closed = False
        self._seconds = 1.0
        """Time of a piece, as a moving average."""

    async def take(self, pieces: Iterator[Piece], given: float = 0.0) -> AsyncGenerator[Piece, None]:
        """Yields the pieces of a request, each computed in its turn on a thread of the pool.

        Args:
            pieces: the pieces.
            given: seconds of audio that the request was given before.

        A generator of pieces is closed at the end, also if this one is closed before. An encoder has threads.

        Raises:
            RequestError: the queue is full when the first piece is asked for; with the seconds in which there
                will be room.
        """
        self._check_room()
        try:
            while (piece := await self._next(pieces, given)) is not None:
                yield piece
                given += piece.seconds
        finally:
            if all(each.pieces is not pieces for each in self._computing):
                _close(pieces)

    def _check_room(self) -> None:
        if self._asking >= self._longest_queue:
            seconds = min(LONGEST_RETRY, math.ceil(self._asking * self._seconds / self._slots))
            raise RequestError(
                503,
                f"{self._asking} requests are waiting: try again in {seconds} s.",
                code="overloaded",
                headers={"Retry-After": str(seconds)},
            )

    async def _next(self, pieces: Iterator[Piece], given: float) -> Piece | None:
        answer: asyncio.Future[Piece | None] = asyncio.get_running_loop().create_future()
        asked = _Asked(pieces, given, answer)
        self._asking += 1
        metrics.WAITING.inc()
        self._waiting.append(asked)
        self._compute()
        try:
            return await answer
        finally:
            self._asking -= 1
            metrics.WAITING.dec()
            # Cancelled while it waits, it is never computed.
            if asked in self._waiting:
                self._waiting.remove(asked)

    def _compute(self) -> None:
        """Begins to compute pieces that wait, as many as are allowed at a time."""
        while self._waiting and len(self._computing) < self._slots and not self._closed:
            self._turn += 1
            by_time = self._turn % TURNS_BY_TIME == 0
            asked = self._waiting[0] if by_time else min(self._waiting, key=lambda each: each.given)
            self._waiting.remove(asked)
            self._computing.append(asked)
            loop = asyncio.get_running_loop()
            computed = loop.run_in_executor(self._executor, self._timed, asked.pieces)
            computed.add_done_callback(partial(self._computed, asked))

    def _computed(self, asked: _Asked, computed: asyncio.Future[Any]) -> None:
        self._computing.remove(asked)
        failure = computed.exception()
        if asked.answer.done():
            _close(asked.pieces)
        elif failure is None:
            asked.answer.set_result(computed.result())
        else:
            asked.answer.set_exception(failure)
        self._compute()

    def _timed(self, pieces: Iterator[Piece]) -> Piece | None:
        start = time.monotonic()
        try:
            return next(pieces, None)
        finally:
            self._seconds += 0.1 * (time.monotonic() - start - self._seconds)

    def close(self) -> None:
        """Waits for the pieces that are being computed; waiting requests are dropped."""
        self._closed = True
        self._executor.shutdown()


def _close(pieces: Iterator[Any]) -> None:
    if isinstance(pieces, Generator):
        pieces.close()
