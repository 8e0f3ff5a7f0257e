"""Home Assistant's protocol for voice, Wyoming: describes the voices, and answers text with audio."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event, async_write_event
from wyoming.info import Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from runtime_min import Bundle, VoiceName, __version__
from runtime_min.errors import KokoroError

from .encoders import SAMPLE_RATE
from .errors import RequestError
from .events import EventError, FramingError, read_event, shown
from .limits import PATIENCE_SECONDS, REQUEST_BYTES, REQUEST_SECONDS, RETRY_SECONDS, WYOMING_CONNECTIONS
from .live import LiveAnswer
from .requests import LONGEST_VOICE, SpeechRequest
from .speech import SpokenPiece, speak
from .turns import Turns
from .voices import default_voice, known_voice, nearest_voice, voice_language

Network = IPv4Network | IPv6Network
CHUNK_BYTES = 8 << 10
REFUSED_CONNECTIONS = 8
"""Connections, among `WYOMING_CONNECTIONS`, that are open only to be told why they are refused."""
SERVED_CONNECTIONS = WYOMING_CONNECTIONS - REFUSED_CONNECTIONS
LAST_SECONDS = 2.0
LAST_BYTES = 1 << 20
"""Bytes and seconds that a peer has after the last error before its connection is reset."""
_FULL = f"The server has as many clients as it can hold: try again in {RETRY_SECONDS} s."
_KOKORO = Attribution("hexgrad", "https://huggingface.co/hexgrad/Kokoro-82M")
_log = logging.getLogger("uvicorn.error")


class Port:
    """A port and its connections."""

    def __init__(
        self,
        bundle: Bundle,
        turns: Turns,
        send_seconds: float,
        peers: Sequence[Network],
        loudness: float | None = None,
    ) -> None:
        """Takes the objects that connections share.

        Args:
            bundle: speaks.
            turns: queue for the pieces of all requests.
            send_seconds: time in which a client must take an event.
            peers: networks whose clients may connect; none stands for all.
            loudness: LUFS of every voice; None leaves each at its own level.
        """
        self._bundle = bundle
        self._turns = turns
        self._send_seconds = send_seconds
        self._peers = peers
        self._loudness = loudness
        self._served: dict[Connection, asyncio.Task[None]] = {}
        self._refused: dict[Connection, asyncio.Task[None]] = {}

    async def listen(self, listener: socket.socket) -> None:
        """Serves the connections to a socket until it is cancelled.

        They are accepted one by one, so that at most `WYOMING_CONNECTIONS` are open, and the newest one.
        """
        listener.setblocking(False)
        try:
            while True:
                accepted, (peer, *_) = await _accepted(listener)
                shared = (self._bundle, self._turns, self._send_seconds, self._loudness)
                self._admit(Connection(accepted, peer, *shared))
                # A connection that was just ended is closed before the next one is accepted.
                await asyncio.sleep(0)
        finally:
            listener.close()
            tasks = [*self._served.values(), *self._refused.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _admit(self, connection: Connection) -> None:
        refusal = self._refusal(connection.peer)
        if refusal is None:
            self._served[connection] = asyncio.create_task(self._run(connection, None))
        elif len(self._refused) < REFUSED_CONNECTIONS:
            self._refused[connection] = asyncio.create_task(self._run(connection, refusal))
        else:
            connection.close()

    async def _run(self, connection: Connection, refusal: RequestError | None) -> None:
        try:
            await connection.run(refusal)
        finally:
            self._served.pop(connection, None)
            self._refused.pop(connection, None)

    def _refusal(self, peer: str) -> RequestError | None:
        if self._peers and not any(ip_address(peer) in network for network in self._peers):
            return RequestError(403, f"The address {peer} may not connect: see the option --wyoming-allow.")
        if len(self._served) >= SERVED_CONNECTIONS and not self._makes_room():
            return RequestError(503, _FULL)
        return None

    def _makes_room(self) -> bool:
        """Ends the connection that has waited longest for an event, if it has waited long enough."""
        longest = min(self._served, key=lambda each: each.waits_since)
        if time.monotonic() - longest.waits_since < PATIENCE_SECONDS:
            return False
        self._refused[longest] = self._served.pop(longest)
        self._refused[longest].cancel()
        return True


class Connection:
    """One connection."""

    def __init__(
        self,
        accepted: socket.socket,
        peer: str,
        bundle: Bundle,
        turns: Turns,
        send_seconds: float,
        loudness: float | None,
    ) -> None:
        """Takes the connection, its client's address, and the objects that all connections share."""
        self._socket = accepted
        self.peer = peer
        self._bundle = bundle
        self._turns = turns
        self._send_seconds = send_seconds
        self._loudness = loudness
        self._live: LiveAnswer | None = None
        """The answer to a text that arrives bit by bit."""
        self._started = False
        """Audio of the present answer was sent."""
        self.waits_since = math.inf
        """Monotonic time in seconds since which it waits for an event; infinite if it does not wait."""

    def close(self) -> None:
        """Closes a connection that does not run."""
        self._socket.close()

    async def run(self, refusal: RequestError | None) -> None:
        """Answers events, or sends the refusal, until the end of the connection."""
        try:
            # An event is several small writes, and Nagle's algorithm would hold back all but the first.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._reader, self._writer = await asyncio.open_connection(sock=self._socket, limit=REQUEST_BYTES)
            try:
                await (self._serve() if refusal is None else self._end(refusal))
            finally:
                self._writer.transport.abort()
        except (OSError, TimeoutError) as error:
            _log.info("A Wyoming connection ended: %s", str(error) or type(error).__name__)
        finally:
            self._socket.close()

    async def _serve(self) -> None:
        try:
            while await self._exchange():
                # Bytes that have arrived are read without waiting, so others get a turn in between.
                await asyncio.sleep(0)
        except FramingError as error:
            await self._end(error)
        else:
            self._writer.close()
            async with asyncio.timeout(self._send_seconds):
                await self._writer.wait_closed()

    async def _end(self, error: Exception) -> None:
        """Sends an error, and for a while discards bytes of the client.

        A connection that is closed with unread bytes is reset, and the error may be lost.
        """
        await self._refuse(error)
        self._writer.write_eof()
        left = LAST_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                while left > 0 and (data := await self._reader.read(left)):
                    left -= len(data)

    async def _exchange(self) -> bool:
        """Answers or refuses the next event; returns whether there was one."""
        try:
            event = await self._next()
            if event is not None:
                await self._answer(event)
            return event is not None
        except (EventError, KokoroError, RequestError) as error:
            await self._refuse(error)
            return True

    async def _next(self) -> Event | None:
        self.waits_since = time.monotonic()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await read_event(self._reader, REQUEST_BYTES)
        except TimeoutError as error:
            raise FramingError(f"Expected a whole event within {REQUEST_SECONDS:g} s, found none.") from error
        finally:
            self.waits_since = math.inf

    async def _answer(self, event: Event) -> None:
        """Answers an event; unknown ones are ignored, as the protocol wants it."""
        if Describe.is_type(event.type):
            await self._write(described(self._bundle).event())
        elif SynthesizeStart.is_type(event.type):
            request = read_request({**event.data, "text": ""}, self._bundle.voices)
            request = replace(request, loudness=self._loudness)
            self._live, self._started = None, False
            self._live = await LiveAnswer.begin(self._bundle, request, self._turns)
        elif self._live is not None:
            await self._answer_live(self._live, event)
        elif Synthesize.is_type(event.type):
            request = read_request(event.data, self._bundle.voices)
            await self._speak(replace(request, loudness=self._loudness))

    async def _answer_live(self, live: LiveAnswer, event: Event) -> None:
        """Answers an event of a text that arrives bit by bit.

        Home Assistant sends the whole text too, for servers that know no other; it is ignored.
        """
        try:
            if SynthesizeChunk.is_type(event.type):
                text = _field(event.data, "text", str, "a string") or ""
                await self._send_all(live.push(text))
            elif SynthesizeStop.is_type(event.type):
                self._live = None
                await self._send_all(live.end())
                await self._write(AudioStop().event())
                await self._write(SynthesizeStopped().event())
        except Exception:
            # What is left of the text is ignored.
            self._live = None
            raise

    async def _speak(self, request: SpeechRequest) -> None:
        self._started = False
        async with aclosing(self._turns.take(speak(self._bundle, request))) as pieces:
            await self._send_all(pieces)
        await self._write(AudioStop().event())

    async def _send_all(self, pieces: AsyncIterator[SpokenPiece]) -> None:
        sound = {"rate": SAMPLE_RATE, "width": 2, "channels": 1}
        async for piece in pieces:
            if not self._started:
                await self._write(AudioStart(**sound).event())
                self._started = True
            for start in range(0, len(piece.data), CHUNK_BYTES):
                data = piece.data[start : start + CHUNK_BYTES]
                await self._write(AudioChunk(**sound, audio=data).event())

    async def _refuse(self, error: Exception) -> None:
        # A lone surrogate of the message has no bytes.
        text = str(error).encode(errors="backslashreplace").decode()
        _log.warning("A Wyoming client at %s was refused: %s", self.peer, text)
        await self._write(Error(text, type(error).__name__).event())

    async def _write(self, event: Event) -> None:
        # `asyncio.wait_for` may lose a cancellation, and would send the rest to nobody.
        async with asyncio.timeout(self._send_seconds):
            await async_write_event(event, self._writer)


def raw_refusal() -> bytes:
    """Returns the answer to a client for whom no descriptor is left."""
    refusal = {"type": "error", "data": {"text": _FULL, "code": RequestError.__name__}}
    return json.dumps(refusal).encode() + b"\n"


async def _accepted(listener: socket.socket) -> tuple[socket.socket, tuple[str, ...]]:
    """Returns the next connection of a socket, and its address. Failures are logged once, and tried again."""
    reported = False
    while True:
        try:
            return await asyncio.get_running_loop().sock_accept(listener)
        except OSError as error:
            if not reported:
                _log.error("The Wyoming port cannot accept a connection now: %s", error)
            reported = True
            await asyncio.sleep(1)


def described(bundle: Bundle) -> Info:
    """Returns the program and its voices, as Home Assistant lists them."""
    voices = [
        TtsVoice(
            name=name,
            attribution=_KOKORO,
            installed=bundle.speaks(voice_language(name)),
            description=name,
            version=__version__,
            languages=[voice_language(name)],
        )
        for name in bundle.voices
    ]
    program = TtsProgram(
        name="kokoro",
        attribution=_KOKORO,
        installed=True,
        description="Kokoro-82M, compiled ahead of time",
        version=__version__,
        voices=voices,
        supports_synthesize_streaming=True,
    )
    return Info(tts=[program])


def read_request(data: dict[str, Any], voices: tuple[VoiceName, ...]) -> SpeechRequest:
    """Returns the request in the data of a `synthesize` event.

    Raises:
        EventError: a field is missing or has a wrong type.
        RequestError: no voice speaks the language.
    """
    text = _field(data, "text", str, "a string")
    if text is None:
        raise EventError("Expected text to be a string, found nothing.")
    voice = _field(data, "voice", dict, "an object") or {}
    name, language = (_field(voice, field, str, "a string") for field in ("name", "language"))
    if name is not None and len(name) > LONGEST_VOICE:
        raise EventError(f"Expected name to have at most {LONGEST_VOICE} characters, found {len(name)}.")
    chosen = chosen_voice(SynthesizeVoice(name, language), voices)
    # The text's language goes with a name; without one it chose the voice.
    return SpeechRequest(text, chosen, format="pcm", language=language if name else None)


def _field(fields: dict[str, Any], name: str, kind: type, expected: str) -> Any:
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise EventError(f"Expected {name} to be {expected}, found {shown(value)}.")
    return value


def chosen_voice(asked: SynthesizeVoice | None, voices: Sequence[VoiceName]) -> str:
    """Returns the voice of the asked name, or else the first of those nearest to the asked language.

    Raises:
        RequestError: no voice speaks the language.
    """
    if asked is not None and asked.name is not None:
        return known_voice(asked.name, voices)
    if asked is None or asked.language is None:
        return default_voice(voices)
    return nearest_voice(asked.language, voices, "language")


@asynccontextmanager
async def serving(port: Port, listener: socket.socket | None) -> AsyncIterator[None]:
    """Serves a bound socket until the end of ``async with``; does nothing without one."""
    if listener is None:
        yield
        return
    listening = asyncio.create_task(port.listen(listener))
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.wait([listening])
