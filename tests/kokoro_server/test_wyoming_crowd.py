"""Many hostile clients of Wyoming at a time, and one that only wants to hear something.

`make prove` runs the long form; `docs/fuzz.md` has its figures.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from wyoming.client import AsyncTcpClient
from wyoming.tts import Synthesize

from kokoro_server.limits import WYOMING_CONNECTIONS
from tests.kokoro_server.test_process import figures
from tests.kokoro_server.test_wyoming_events import SOUND
from tests.support.fakes.wyoming_client import DESCRIBE, message
from tests.support.fuzzing.bundles import damaged_bytes
from tests.support.fuzzing.crowd import Crowd, held_off, limited, reset, unread

SECONDS = float(os.environ.get("KOKORO_WYOMING_SECONDS", "600"))
LONG = message({"type": "synthesize"}, b'{"text": "%s"}' % (b"One sentence, and another one. " * 4_000))


async def silent(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends nothing."""


async def slow(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for byte in DESCRIBE:
        if writer.transport.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(0.2)


async def half(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    whole = random.choice(SOUND)
    writer.write(whole + LONG[: random.randrange(len(LONG))])


async def giant(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    length = random.choice(("data_length", "payload_length"))
    writer.write(message({"type": "describe", length: 4_000_000_000}) + bytes(4 << 20))


async def endless(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"x" * (4 << 20))


async def nonsense(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    sound = random.choices(SOUND, k=3)
    writer.write(damaged_bytes(random, b"".join(sound[:2]), sound[2]))
    writer.write_eof()


async def deaf(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await unread(writer, random.choice((LONG, DESCRIBE * 2_000, b"{}\n" * 20_000)))


async def resetting(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(random.choice((b"", DESCRIBE, LONG)))
    await reset(writer, random.random() / 10)


KINDS = (silent, slow, half, giant, endless, nonsense, deaf, resetting)


def ending(got: bytes) -> str:
    types = re.findall(rb'"type": "([a-z-]+)"', got)
    return types[-1].decode() if types else "closed"


async def heard(port: int) -> int:
    """Returns how often a client has to ask until it has heard its text."""
    for asked in range(1, 100):
        with suppress(ConnectionError):
            async with AsyncTcpClient("127.0.0.1", port) as client:
                await client.write_event(Synthesize("Hi.").event())
                while event := await asyncio.wait_for(client.read_event(), 60):
                    if event.type == "audio-stop":
                        return asked
        await asyncio.sleep(0.1)
    raise AssertionError("refused 100 times")


@pytest.mark.parametrize(
    ("lasting", "patience"), [(3.0, 2.0), pytest.param(SECONDS, 60.0, marks=pytest.mark.slow)]
)
def test_a_crowd_of_hostile_clients_is_held_off(lasting: float, patience: float, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def heard_beside_http() -> int:
        asked = await heard(port)
        await asyncio.to_thread(figures, http_port)
        return asked

    with limited(log, "--wyoming-port", str(port), "--send-timeout", "1") as (process, http_port):
        # What 32 connections held at a time, and not what thousands of clients sent or announced.
        grown = (4 << 20) * WYOMING_CONNECTIONS
        crowd = Crowd(port, KINDS, ending, patience)
        held_off(process, crowd, lasting, heard_beside_http, WYOMING_CONNECTIONS + 4, grown)
    assert "Traceback" not in log.read_text()
