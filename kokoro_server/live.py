"""Answers to a text that arrives bit by bit, each piece in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from runtime_min import Bundle

from .requests import SpeechRequest
from .speech import LiveSpeech, SpokenPiece
from .turns import Turns

_SLICE = 1_000
"""Characters that are looked at before other clients get a turn."""


class LiveAnswer:
    """The answer to one text. While it is computed, no more text is taken."""

    def __init__(self, speech: LiveSpeech, turns: Turns) -> None:
        """Takes the speech, and the queue for the pieces of all requests."""
        self._speech = speech
        self._turns = turns
        self.seconds = 0.0
        """Seconds of the pieces that were yielded."""
        self.close = speech.close

    @staticmethod
    async def begin(bundle: Bundle, request: SpeechRequest, turns: Turns) -> LiveAnswer:
        """Returns the answer to a request whose text is still to come.

        Raises:
            KokoroError: the request cannot be spoken.
        """
        # The first text of a language may load its data.
        return LiveAnswer(await asyncio.to_thread(LiveSpeech, bundle, request), turns)

    async def push(self, text: str) -> AsyncIterator[SpokenPiece]:
        """Yields the speech of what is certain with the next part of the text.

        Raises:
            KokoroError: it cannot be spoken.
            RequestError: the queue is full.
        """
        for start in range(0, len(text), _SLICE):
            self._speech.push(text[start : start + _SLICE])
            async for piece in self._ready():
                yield piece
            await asyncio.sleep(0)

    async def flush(self) -> AsyncIterator[SpokenPiece]:
        """Yields the speech of all that is there; raises what `push` raises."""
        self._speech.flush()
        async for piece in self._ready():
            yield piece

    async def end(self) -> AsyncIterator[SpokenPiece]:
        """Yields the rest of the speech; raises what `push` raises."""
        self._speech.end()
        async for piece in self._ready():
            yield piece

    async def _ready(self) -> AsyncIterator[SpokenPiece]:
        if not self._speech.is_ready:
            return
        async with aclosing(self._turns.take(self._speech.pieces(), self.seconds)) as pieces:
            async for piece in pieces:
                self.seconds += piece.seconds
                yield piece
