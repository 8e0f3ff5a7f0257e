"""Answers that are sent while their speech is made, and broken off when a client is gone or does not read."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from runtime_min.errors import KokoroError

from . import metrics
from .ascii_json import as_json
from .encoders import FORMATS
from .errors import RequestError, refusal
from .requests import SpeechRequest
from .speech import FRAMES_PER_SECOND, SpokenPiece
from .transports import break_off

SENT_AT_ONCE = 64 << 10
"""Bytes that a client must take within the time limit: less than a slow telephone line carries."""
Pieces = AsyncGenerator[SpokenPiece, None]
_log = logging.getLogger("uvicorn.error")


class SpeechAnswer:
    """An answer of unknown length. Its status follows from whether the first bytes could be made."""

    def __init__(
        self, pieces: Pieces, chunks: AsyncIterator[bytes], media_type: str, send_seconds: float
    ) -> None:
        """Takes the pieces, the bytes to send of them, and how long a client may take for `SENT_AT_ONCE`."""
        self._pieces = pieces
        self._chunks = chunks
        self._media_type = media_type
        self._send_seconds = send_seconds
        self._start = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the answer until its end, or the end of its client.

        Raises:
            RequestError: nothing was sent, because the speech could not be made or must wait.
            KokoroError, TimeoutError: the answer was broken off, and the connection is another server's.
        """
        answer = asyncio.ensure_future(self._send_and_close(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                answer.result()
            else:
                metrics.REQUESTS.labels("disconnected").inc()
        except (KokoroError, TimeoutError, asyncio.CancelledError) as error:
            # It is too late for another status. A cancelled answer met the end of the server.
            _log.warning("An answer was broken off: %s", str(error) or type(error).__name__)
            metrics.REQUESTS.labels("broken off").inc()
            if not break_off(scope):
                raise
        finally:
            answer.cancel()
            gone.cancel()
            # The end of the server may cancel an answer twice.
            with suppress(asyncio.CancelledError):
                await asyncio.gather(answer, gone, return_exceptions=True)

    async def _send_and_close(self, send: Send) -> None:
        async with aclosing(self._pieces):
            await self._send_all(send)

    async def _send_all(self, send: Send) -> None:
        chunks = _filled(self._chunks)
        try:
            first = await anext(chunks)
        except (KokoroError, RequestError) as error:
            refused = refusal(error)
            metrics.REQUESTS.labels(str(refused.status)).inc()
            raise refused from error
        metrics.FIRST_BYTES.observe(time.monotonic() - self._start)
        headers = [
            (b"content-type", self._media_type.encode()),
            (b"cache-control", b"no-cache"),
            # nginx passes it on as it comes.
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send(send, first)
        async for chunk in chunks:
            await self._send(send, chunk)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        metrics.REQUESTS.labels("200").inc()

    async def _send(self, send: Send, data: bytes) -> None:
        for start in range(0, len(data), SENT_AT_ONCE):
            part = data[start : start + SENT_AT_ONCE]
            message: Message = {"type": "http.response.body", "body": part, "more_body": True}
            # `asyncio.wait_for` may lose a cancellation, and would send the rest to nobody.
            async with asyncio.timeout(self._send_seconds):
                await send(message)


async def _filled(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if chunk:
            yield chunk


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def as_audio(pieces: Pieces) -> AsyncIterator[bytes]:
    """Yields the audio alone."""
    async for piece in pieces:
        yield piece.data


async def as_events(pieces: Pieces) -> AsyncIterator[bytes]:
    """Yields OpenAI's server-sent events.

    The tokens of the usage are the model's: phonemes in, frames of 25 ms out.
    """
    phonemes, seconds, started = 0, 0.0, False
    unspoken: list[dict[str, object]] = []
    try:
        async for piece in pieces:
            phonemes, seconds = phonemes + piece.phonemes, seconds + piece.seconds
            unspoken += _unspoken(piece)
            if piece.data:
                started = True
                yield _event({"type": "speech.audio.delta", "audio": _base64(piece.data)})
    except KokoroError as error:
        if not started:
            raise
        yield _event({"type": "error", **refusal(error).content})
        return
    frames = round(FRAMES_PER_SECOND * seconds)
    usage = {"input_tokens": phonemes, "output_tokens": frames, "total_tokens": phonemes + frames}
    yield _event({"type": "speech.audio.done", "usage": usage, "unspoken": unspoken})


async def as_captions(pieces: Pieces, request: SpeechRequest) -> AsyncIterator[bytes]:
    """Yields Kokoro-FastAPI's JSON lines of audio and times of words."""
    words: list[dict[str, object]] = []
    unspoken: list[dict[str, object]] = []
    async for piece in pieces:
        words += _times(piece)
        unspoken += _unspoken(piece)
        if piece.data:
            yield _line({"audio": _base64(piece.data), **_described(request, words, unspoken)})
            words, unspoken = [], []


async def as_one_caption(pieces: Pieces, request: SpeechRequest) -> AsyncIterator[bytes]:
    """Yields one JSON object with all audio and times, while the audio is made."""
    words: list[dict[str, object]] = []
    unspoken: list[dict[str, object]] = []
    # With the first piece, so that an error before it has its status.
    head, rest = b'{"audio":"', b""
    async for piece in pieces:
        words += _times(piece)
        unspoken += _unspoken(piece)
        data = rest + piece.data
        # Base64 goes by threes.
        whole = len(data) - len(data) % 3
        rest = data[whole:]
        yield head + base64.b64encode(data[:whole])
        head = b""
    yield base64.b64encode(rest) + b'",'
    yield _line(_described(request, words, unspoken))[1:]


def _described(
    request: SpeechRequest, words: list[dict[str, object]], unspoken: list[dict[str, object]]
) -> dict[str, object]:
    times = words if request.timestamps else None
    return {"audio_format": FORMATS[request.format].media_type, "timestamps": times, "unspoken": unspoken}


def _times(piece: SpokenPiece) -> list[dict[str, object]]:
    return [{"word": word.text, "start_time": word.start, "end_time": word.end} for word in piece.words]


def _unspoken(piece: SpokenPiece) -> list[dict[str, object]]:
    return [{"word": word.text, "offset": word.offset} for word in piece.unspoken]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _event(content: dict[str, object]) -> bytes:
    return b"data: %s\n\n" % as_json(content)


def _line(content: dict[str, Any]) -> bytes:
    return as_json(content) + b"\n"
