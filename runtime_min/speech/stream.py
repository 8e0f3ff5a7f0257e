"""Speech that arrives piece by piece while the next piece is computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ..errors import ForkError, StreamClosedError
from ..threads import Reply, WorkerThread
from .lead import Player
from .timing import Audio

if TYPE_CHECKING:
    from .incoming import Incoming


class Stream:
    """The pieces of a speech in order, for one consumer, with ``for`` or ``async for``.

    One piece is computed ahead of the one that was taken last, never more. A stream that is not read to its
    end is stopped by `close`, at the end of ``with`` or ``async with``, when the task that awaits it is
    cancelled, when waiting for a piece is interrupted, or when it is forgotten. The stage of the model that
    is being computed then is the last one.
    """

    lead: float = 0.0
    """Seconds by which the piece that was taken last came before the ones before it were over, for a player
    that begins with the first. Below 0 there was a gap of so many seconds. That of the first piece is 0."""

    def __init__(
        self,
        pieces: Iterator[Audio],
        phonemes: str | Callable[[], str] | None,
        incoming: Incoming | None = None,
    ) -> None:
        """Starts computing; apps call `Bundle.stream`.

        Args:
            pieces: computes the pieces.
            phonemes: all phonemes, or what finds them; None for those of the pieces that were taken.
            incoming: the text, if it arrives bit by bit.
        """
        self._incoming = incoming
        self._taken: list[str] = []
        self._phonemes = phonemes
        self._pieces = pieces
        self._process = os.getpid()
        self._closed = False
        self._player = Player()
        # Stops with the last reference to it.
        self._thread = WorkerThread()
        self._ahead: Reply[Audio | None] | None = self._thread.ask(next, pieces, None)

    @property
    def phonemes(self) -> str:
        """All that will be spoken; a long text is read to its end for it.

        Of a text that arrives bit by bit, what was taken.
        """
        if self._phonemes is None:
            return "".join(self._taken)
        if not isinstance(self._phonemes, str):
            self._phonemes = self._phonemes()
        return self._phonemes

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Audio:
        """Waits for the next piece.

        Raises:
            StreamClosedError: the stream was closed.
            UsageError: the text comes in the event loop of this thread, which would wait for itself.
            ClosedBundleError: the bundle was.
            KokoroError: the piece could not be spoken; the stream has ended.
        """
        if self._incoming:
            self._incoming.check_loop()
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
            there = asyncio.Event()
            ahead.notify(partial(asyncio.get_running_loop().call_soon_threadsafe, there.set))
            try:
                await there.wait()
            except BaseException:
                self.close()
                raise
        piece = self._take(ahead) if ahead else None
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Stops the stream; does not wait for the stage that is being computed. May be called twice."""
        self._closed = self._ahead is not None
        self._thread.stop()
        if self._incoming:
            self._incoming.close()

    async def aclose(self) -> None:
        """Does what `close` does, for `contextlib.aclosing` and others that close asynchronous iterators."""
        self.close()

    def _waiting(self) -> Reply[Audio | None] | None:
        """Returns the piece that is computed ahead, or None after the end."""
        if os.getpid() != self._process:
            raise ForkError
        if self._closed:
            raise StreamClosedError
        return self._ahead

    def _take(self, ahead: Reply[Audio | None]) -> Audio | None:
        """Returns the piece, None at the end, and has the next one computed."""
        try:
            piece = ahead.take()
            self._ahead = None if piece is None else self._thread.ask(next, self._pieces, None)
        except Exception:
            if not self._closed:
                self._end()
                raise
        except BaseException:
            # An interrupt: this piece or the next one may be lost.
            self.close()
            raise
        if self._closed:
            raise StreamClosedError
        if piece is None:
            self._end()
        else:
            if self._phonemes is None:
                self._taken.append(piece.phonemes)
            self.lead = self._player.take(len(piece.samples) / piece.sample_rate)
        return piece

    def _end(self) -> None:
        self._ahead = None
        self._thread.stop()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()
