"""Text that arrives bit by bit over a WebSocket, with the messages of ElevenLabs' `stream-input`."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from runtime_min import Bundle, Timing
from runtime_min.errors import EmptyInputError, KokoroError

from . import metrics
from .encoders import FORMATS
from .errors import RequestError, refusal
from .keys import WRONG_KEY, Key
from .limits import REQUEST_SECONDS
from .live import LiveAnswer
from .requests import LONGEST_VOICE, SpeechRequest
from .speech import SpokenPiece
from .transports import break_off
from .turns import Turns
from .voices import known_voice

_FORMAT = re.compile(r"([a-z]+)_([0-9]{4,6})(?:_[0-9]{1,4})?")
"""Codec, samples a second, and kilobits a second, which are those of the server's encoder."""
_DEFAULT_FORMAT = "mp3_44100_128"
_WRONG, _FAILED, _BUSY = 1008, 1011, 1013
"""Codes with which a connection is closed."""
_LONGEST_REASON = 120
"""Bytes of the reason for closing a connection."""
_AUDIO_BYTES = 32 << 10
"""Most bytes of audio in a message."""
_log = logging.getLogger("uvicorn.error")


class StreamInput:
    """The endpoint."""

    def __init__(
        self,
        bundle: Bundle,
        turns: Turns,
        send_seconds: float,
        key: str | None,
        origins: Collection[str],
        loudness: float | None,
    ) -> None:
        """Takes the objects that connections share.

        Args:
            bundle: speaks.
            turns: queue for the pieces of all requests.
            send_seconds: time in which a client must take a message.
            key: key that a header or the first message must carry; None if anybody may speak.
            origins: web sites whose scripts may connect; ``*`` is any.
            loudness: LUFS of every voice; None leaves each at its own level.
        """
        self._bundle = bundle
        self._turns = turns
        self._send_seconds = send_seconds
        self._key = None if key is None else Key(key)
        self._origins = origins
        self._loudness = loudness

    async def serve(self, socket: WebSocket) -> None:
        """Speaks the text of one connection."""
        await socket.accept()
        try:
            await self._answer(socket)
            await self._send(socket, {"audio": None, "isFinal": True})
            status, code, reason = "200", 1000, ""
        except (KokoroError, RequestError) as error:
            refused = refusal(error)
            status, reason = str(refused.status), str(refused)
            code = {500: _FAILED, 503: _BUSY}.get(refused.status, _WRONG)
            _log.warning("A client of stream-input was refused: %s", _printable(reason))
            with suppress(WebSocketDisconnect, TimeoutError):
                await self._send(socket, {"message": reason, "error": refused.code, "code": code})
        except (WebSocketDisconnect, TimeoutError):
            metrics.REQUESTS.labels("disconnected").inc()
            break_off(socket.scope)
            return
        metrics.REQUESTS.labels(status).inc()
        with suppress(WebSocketDisconnect, RuntimeError):
            await socket.close(code, _shortened(reason))

    async def _answer(self, socket: WebSocket) -> None:
        self._check_origin(socket)
        first = await _next(socket)
        self._check_key(socket, first)
        request = self._request(socket, first)
        answer = await LiveAnswer.begin(self._bundle, request, self._turns)
        try:
            await self._speak(socket, answer, first)
        finally:
            answer.close()

    async def _speak(self, socket: WebSocket, answer: LiveAnswer, message: dict[str, Any]) -> None:
        # An empty text ends the speech.
        while text := _field(message, "text", str, "a string", ""):
            await self._send_all(socket, answer, answer.push(text))
            if _field(message, "flush", bool, "true or false", False):
                await self._send_all(socket, answer, answer.flush())
            message = await _next(socket)
        # A connection that was opened in vain is no error.
        with suppress(EmptyInputError):
            await self._send_all(socket, answer, answer.end())

    def _check_origin(self, socket: WebSocket) -> None:
        # A browser lets the scripts of every web site connect.
        origin = socket.headers.get("origin", "")
        allowed = {"*", origin, origin.partition("://")[2]}
        if origin and allowed.isdisjoint({*self._origins, socket.headers.get("host", "")}):
            raise RequestError(
                403, f"Scripts of {origin[:80]} may not connect: see the option --cors-origin."
            )

    def _check_key(self, socket: WebSocket, first: dict[str, Any]) -> None:
        if self._key is None or self._key.is_in(socket.headers):
            return
        text = _field(first, "xi_api_key", str, "a string", "")
        if not self._key.is_in(socket.headers, "xi-api-key") and not self._key.is_text(text):
            raise WRONG_KEY

    def _request(self, socket: WebSocket, first: dict[str, Any]) -> SpeechRequest:
        voice, query = socket.path_params["voice"], socket.query_params
        if len(voice) > LONGEST_VOICE:
            raise RequestError(400, f"A voice has at most {LONGEST_VOICE} characters.", "voice")
        audio_format, rate = read_format(query.get("output_format", _DEFAULT_FORMAT))
        settings = _field(first, "voice_settings", dict, "an object", {})
        return SpeechRequest(
            "",
            known_voice(voice, self._bundle.voices),
            _field(settings, "speed", (int, float), "a number", 1.0),
            audio_format,
            query.get("language_code") or None,
            loudness=self._loudness,
            sample_rate=rate,
        )

    async def _send_all(
        self, socket: WebSocket, answer: LiveAnswer, pieces: AsyncIterator[SpokenPiece]
    ) -> None:
        async for piece in pieces:
            alignment = align_characters(piece.words, answer.seconds - piece.seconds)
            for start in range(0, len(piece.data), _AUDIO_BYTES):
                data = base64.b64encode(piece.data[start : start + _AUDIO_BYTES]).decode()
                await self._send(socket, {"audio": data, "isFinal": None, "alignment": alignment})
                alignment = None

    async def _send(self, socket: WebSocket, message: dict[str, Any]) -> None:
        # `asyncio.wait_for` may lose a cancellation, and would send the rest to nobody.
        async with asyncio.timeout(self._send_seconds):
            await socket.send_text(json.dumps(message))


def align_characters(words: Sequence[Timing], start: float) -> dict[str, list[Any]] | None:
    """Returns when each character is spoken, in milliseconds from the start of a piece of audio.

    Args:
        words: words of the piece; the time of each is shared evenly among its characters.
        start: start of the piece, in seconds from that of the speech.
    """
    if not words:
        return None
    characters: list[str] = []
    times = [words[0].start]
    for word in words:
        if characters:
            characters.append(" ")
            times.append(word.start)
        characters += word.text
        step = (word.end - word.start) / len(word.text)
        times += [word.start + step * number for number in range(1, len(word.text) + 1)]
    starts = [round(1000 * (time - start)) for time in times]
    durations = [end - begin for begin, end in pairwise(starts)]
    return {"chars": characters, "charStartTimesMs": starts[:-1], "charDurationsMs": durations}


def read_format(name: str) -> tuple[str, int]:
    """Returns the format and the samples a second of a name such as ``mp3_44100_128``.

    Raises:
        RequestError: there is no such format.
    """
    found = _FORMAT.fullmatch(name)
    chosen = FORMATS.get(found[1]) if found else None
    if not found or not chosen or int(found[2]) not in chosen.rates:
        known = ", ".join(f"{each}_{value.default_rate}" for each, value in FORMATS.items())
        message = f"There is no format {name[:80]!r}: expected one such as {_DEFAULT_FORMAT}, {known}."
        raise RequestError(400, message, "output_format")
    return found[1], int(found[2])


async def _next(socket: WebSocket) -> dict[str, Any]:
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            message = await socket.receive()
    except TimeoutError:
        raise RequestError(408, f"Expected a message within {REQUEST_SECONDS:g} s, found none.") from None
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"])
    try:
        found = json.loads(message.get("text") or message.get("bytes") or "")
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"The message is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise RequestError(400, "The message must be a JSON object.")
    return found


def _field(fields: dict[str, Any], name: str, kind: Any, expected: str, default: Any) -> Any:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        found = json.dumps(value)[:80]
        raise RequestError(400, f"Expected {name} to be {expected}, found {found}.", name)
    return value


def _printable(text: str) -> str:
    # A lone surrogate has no bytes.
    return text.encode(errors="backslashreplace").decode()


def _shortened(reason: str) -> str:
    return _printable(reason).encode()[:_LONGEST_REASON].decode(errors="ignore")
