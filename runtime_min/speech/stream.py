"""Speech that arrives piece by piece while the next piece is computed."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from ..errors import ForkError, StreamClosedError
from .timing import Audio


class Stream:
    """The pieces of a speech in order, for one consumer, with ``for`` or ``async for``.

    One piece is computed ahead of the one that was taken last, never more. A stream that is not read to its
    end is stopped by `close`, at the end of ``with`` or ``async with``, when the task that awaits it is
    cancelled, or when it is forgotten; the piece that is being computed then is the last one.
    """

    def __init__(self, pieces: Iterator[Audio], phonemes: str) -> None:
        """Starts computing; apps call `Bundle.stream`."""
        self.phonemes = phonemes
        """All that will be spoken."""
        self._pieces = pieces
        self._process = os.getpid()
        self._closed = False
        self._executor = ThreadPoolExecutor(1, "kokoro-stream")
        self._ahead: Future[Audio | None] | None = self._executor.submit(next, pieces, None)
        self._stop = weakref.finalize(self, self._executor.shutdown, wait=False, cancel_futures=True)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Audio:
        """Waits for the next piece.

        Raises:
            StreamClosedError: the stream was closed.
            ClosedBundleError: the bundle was.
            KokoroError: the piece could not be spoken; the stream has ended.
        """
        ahead = self._waiting()
        piece = self._take(ahead) if ahead else None
        if piece is None:
            raise StopIteration
        return piece

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Audio:
        """Awaits the next piece; raises as `__next__` does."""
        # Whoever awaits has it already; all others need not wait for it.
        import asyncio

        ahead = self._waiting()
        if ahead:
            try:
                with suppress(Exception):
                    await asyncio.wrap_future(ahead)
            except asyncio.CancelledError:
                if self._closed:
                    raise StreamClosedError from None
                self.close()
                raise
        piece = self._take(ahead) if ahead else None
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Stops the stream; does not wait for the piece that is being computed. May be called twice."""
        self._closed = self._ahead is not None
        self._stop()

    def _waiting(self) -> Future[Audio | None] | None:
        """Returns the piece that is computed ahead, or None after the end."""
        if os.getpid() != self._process:
            raise ForkError
        if self._closed:
            raise StreamClosedError
        return self._ahead

    def _take(self, ahead: Future[Audio | None]) -> Audio | None:
        """Returns the piece, None at the end, and has the next one computed."""
        try:
            piece = ahead.result()
            if piece is not None:
                self._ahead = self._executor.submit(next, self._pieces, None)
        except Exception as failure:
            # A cancelled future, or an executor that takes nothing more.
            if self._closed:
                raise StreamClosedError from None
            self._end()
            raise failure
        if piece is None:
            self._end()
        return piece

    def _end(self) -> None:
        self._ahead = None
        self._stop()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()
