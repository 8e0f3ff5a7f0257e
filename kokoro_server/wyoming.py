"""Home Assistant's protocol for voice, Wyoming: describes the voices, and answers text with audio."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.server import AsyncEventHandler
from wyoming.tts import Synthesize, SynthesizeVoice

from runtime_min import Bundle, VoiceName, __version__
from runtime_min.errors import KokoroError

from .encoders import SAMPLE_RATE
from .errors import RequestError
from .requests import SpeechRequest, default_voice
from .speech import speak
from .turns import Turns
from .voices import known_voice

CHUNK_BYTES = 8 << 10
_KOKORO = Attribution("hexgrad", "https://huggingface.co/hexgrad/Kokoro-82M")
_log = logging.getLogger("uvicorn.error")


class Handler(AsyncEventHandler):
    """One connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        bundle: Bundle,
        turns: Turns,
        send_seconds: float,
    ) -> None:
        """Takes the connection and what all of them share."""
        super().__init__(reader, writer)
        self._bundle = bundle
        self._turns = turns
        self._send_seconds = send_seconds

    async def handle_event(self, event: Event) -> bool:
        """Answers an event; others than these two are ignored, as the protocol wants it."""
        if Describe.is_type(event.type):
            await self._write(described(self._bundle).event())
        elif Synthesize.is_type(event.type):
            try:
                await self._speak(Synthesize.from_event(event))
            except (KokoroError, RequestError) as error:
                await self._write(Error(str(error), type(error).__name__).event())
        return True

    async def _speak(self, asked: Synthesize) -> None:
        voices = self._bundle.voices
        request = SpeechRequest(asked.text, chosen_voice(asked.voice, voices), format="pcm")
        sound = {"rate": SAMPLE_RATE, "width": 2, "channels": 1}
        started = False
        async for piece in self._turns.take(speak(self._bundle, request)):
            if not started:
                await self._write(AudioStart(**sound).event())
                started = True
            for start in range(0, len(piece.data), CHUNK_BYTES):
                data = piece.data[start : start + CHUNK_BYTES]
                await self._write(AudioChunk(**sound, audio=data).event())
        await self._write(AudioStop().event())

    async def _write(self, event: Event) -> None:
        await asyncio.wait_for(self.write_event(event), self._send_seconds)


def described(bundle: Bundle) -> Info:
    """Returns the program and its voices, as Home Assistant lists them."""
    voices = [
        TtsVoice(
            name=name,
            attribution=_KOKORO,
            installed=True,
            description=name,
            version=__version__,
            languages=[name.language or "en-US"],
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
    )
    return Info(tts=[program])


def chosen_voice(asked: SynthesizeVoice | None, voices: tuple[VoiceName, ...]) -> str:
    """Returns the voice of the asked name, or else the first one of the asked language."""
    if asked is not None and asked.name is not None:
        return known_voice(asked.name, voices)
    if asked is not None and asked.language is not None:
        short = asked.language.replace("_", "-").lower()
        for name in voices:
            language = (name.language or "").lower()
            if language and (language == short or language.partition("-")[0] == short):
                return name
    return default_voice(voices)


@asynccontextmanager
async def serving(
    bundle: Bundle, turns: Turns, send_seconds: float, listener: socket.socket | None
) -> AsyncIterator[None]:
    """Serves a bound socket until the end of ``async with``; does nothing without one."""
    if listener is None:
        yield
        return
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await Handler(reader, writer, bundle, turns, send_seconds).run()
        except (OSError, EOFError, TimeoutError) as error:
            _log.info("A Wyoming connection ended: %s", str(error) or type(error).__name__)
            writer.transport.abort()
        finally:
            running.remove(task)

    server = await asyncio.start_server(connected, sock=listener)
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
