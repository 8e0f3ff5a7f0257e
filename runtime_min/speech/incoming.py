"""Reads a text that arrives bit by bit: one thread or task waits for its pieces, another takes them."""

from __future__ import annotations

import _thread
import asyncio
from collections.abc import AsyncIterable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import ClosedBundleError, ResourceError, SpokenTypeError, StreamClosedError, UsageError
from ..threads import is_stopped
from .words import FLUSH, Flush, TextPieces

_MOST = 64
"""Pieces that may wait to be taken."""
_LOOK = 0.1
"""Seconds after which a thread that waits for text looks whether anybody wants the speech."""
_END = object()


class Incoming:
    """The pieces of a text, read ahead as far as `_MOST` of them."""

    def __init__(self, pieces: TextPieces) -> None:
        """Begins to read.

        Raises:
            UsageError: the pieces come asynchronously, and no event loop is running.
            ResourceError: the system starts no more threads.
        """
        self._found: SimpleQueue[Any] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(_MOST):
            self._room.put(None)
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        if isinstance(pieces, AsyncIterable):
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                raise UsageError(
                    "Text that comes from an asynchronous iterable needs a running event loop: "
                    "call stream within a coroutine."
                ) from None
            self._task = self._loop.create_task(self._read_asynchronously(pieces))
            return
        try:
            _thread.start_new_thread(self._read, (pieces,))
        except RuntimeError as failure:
            raise ResourceError("Starting a thread", failure) from failure

    def check_loop(self) -> None:
        """Checks that whoever waits for the speech does not hold up its text.

        Raises:
            UsageError: the text comes in the event loop of this thread.
        """
        if self._loop and asyncio._get_running_loop() is self._loop:
            raise UsageError("The text comes in this event loop: take the pieces with async for.")

    def take(self, seconds: float | None) -> str | Flush | None:
        """Returns the next piece, None at the end of the text, or `FLUSH` if none came in so many seconds.

        Raises:
            ClosedBundleError: nobody wants the speech any more.
            SpokenTypeError: a piece is not text.
            Exception: the iterable raised it.
        """
        waited = 0.0
        while True:
            wait = _LOOK if seconds is None else max(0.0, min(_LOOK, seconds - waited))
            try:
                found = self._found.get(timeout=wait)
                break
            except Empty:
                waited += wait
                if is_stopped():
                    raise ClosedBundleError from None
                if seconds is not None and waited >= seconds:
                    return FLUSH
        self._room.put(None)
        if found is _END:
            return None
        if isinstance(found, BaseException):
            raise found
        if not isinstance(found, (str, Flush)):
            raise SpokenTypeError("pieces of text as str", found)
        return found

    def close(self) -> None:
        """Ends reading; a piece that is waited for is the last one."""
        self._closed = True
        self._room.put(None)
        self._found.put(ClosedBundleError())
        if self._loop and self._task:
            # The loop may be closed by now.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)

    def _read(self, pieces: Iterable[str | Flush]) -> None:
        try:
            for piece in pieces:
                self._room.get()
                if self._closed:
                    break
                self._found.put(piece)
            self._found.put(_END)
        except BaseException as failure:
            self._found.put(failure)
        finally:
            with suppress(Exception):
                getattr(pieces, "close", lambda: None)()

    async def _read_asynchronously(self, pieces: AsyncIterable[str | Flush]) -> None:
        try:
            async for piece in pieces:
                self._found.put(piece)
                while self._found.qsize() >= _MOST:
                    await asyncio.sleep(_LOOK / 10)
            self._found.put(_END)
        except asyncio.CancelledError:
            self._found.put(StreamClosedError())
            raise
        except BaseException as failure:
            self._found.put(failure)
        finally:
            with suppress(Exception):
                if close := getattr(pieces, "aclose", None):
                    await close()
