"""Many hostile clients of `stream-input` at a time, and one that only wants to hear something.

`make prove` runs the long form; `docs/fuzz.md` has its figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from kokoro_server.connections import SPARE_DESCRIPTORS
from tests.kokoro_server.test_stream_input import path
from tests.support.fuzzing.bundles import damaged_bytes
from tests.support.fuzzing.crowd import (
    DESCRIPTORS,
    Crowd,
    held_off,
    limited,
    most_memory,
    reset,
    unread,
)

SECONDS = float(os.environ.get("KOKORO_STREAM_INPUT_SECONDS", "600"))
UPGRADE = (
    f"GET {path()} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
).encode()
FINAL, TEXT, BINARY, CLOSE, PING = 0x80, 1, 2, 8, 9


def frame(content: bytes, code: int = FINAL | TEXT, length: int | None = None) -> bytes:
    """Returns a frame whose mask changes nothing; `length` is what it announces."""
    size = len(content) if length is None else length
    if size < 126:
        head = bytes((code, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((code, 0x80 | 126)) + struct.pack(">H", size)
    else:
        head = bytes((code, 0x80 | 127)) + struct.pack(">Q", size)
    return head + bytes(4) + content


def say(text: str, **fields: object) -> bytes:
    return frame(json.dumps({"text": text, **fields}).encode())


SOUND = (
    say("One sentence, and another one. "), say("One. ", flush=True), say(""), say(" ", xi_api_key="a"),
    frame(b"{}", FINAL | BINARY), frame(b"a", FINAL | PING), frame(b"\x03\xe8", FINAL | CLOSE),
)  # fmt: skip
LONG = say("One sentence, and another one. " * 3_000)
FIELDS = json.dumps({"text": "a", "voice_settings": {"speed": 1}}).encode()
PINGS = frame(b"x" * 125, FINAL | PING) * 3_000


async def open_socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(UPGRADE)
    with suppress(asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")


async def silent(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(random.choice((UPGRADE, UPGRADE[: random.randrange(len(UPGRADE))])))


async def slow(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await open_socket(reader, writer)
    for byte in random.choice(SOUND):
        if writer.transport.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(0.2)


async def sending(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Announces giant messages, never ends one, or sends many, pings, or nonsense."""
    await open_socket(reader, writer)
    sound = random.choices(SOUND, k=3)
    length = random.choice((1 << 20, 4_000_000_000, 1 << 63))
    content = (
        frame(bytes(4 << 20), length=length),
        frame(b'{"text": "', TEXT) + frame(b"x" * 4_000, 0) * 1_000,
        frame(b'{"text": "', TEXT) + frame(b"", 0) * 600_000,
        frame(b"[]") * 300_000,
        PINGS,
        damaged_bytes(random, b"".join(sound[:2]), sound[2]),
        frame(damaged_bytes(random, FIELDS)[:10_000]),
    )
    writer.write(random.choice(content))
    if random.random() < 0.2:
        writer.write_eof()


async def deaf(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await open_socket(reader, writer)
    await unread(writer, random.choice((LONG, say("One. ", flush=True) * 2_000, (say(" ") + PINGS) * 9)))


async def resetting(random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await open_socket(reader, writer)
    writer.write(random.choice((b"", LONG)))
    await reset(writer, random.random() / 10)


KINDS = (silent, slow, sending, sending, sending, sending, deaf, deaf, resetting)


def ending(got: bytes) -> str:
    """Names what came last: an answer of HTTP, audio, or an error."""
    if b'"error"' in got:
        return "error"
    if b'"isFinal": true' in got:
        return "spoken"
    return got.split()[1].decode() if got.startswith(b"HTTP/") and got[9:12] != b"101" else "closed"


async def heard(port: int) -> int:
    """Returns how often a client has to ask until it has heard its text."""
    for asked in range(1, 200):
        try:
            async with connect(f"ws://127.0.0.1:{port}{path()}", open_timeout=60) as client:
                await client.send(json.dumps({"text": "Abc. "}))
                await client.send(json.dumps({"text": ""}))
                async for message in client:
                    if json.loads(message).get("isFinal"):
                        return asked
        except (WebSocketException, OSError):
            await asyncio.sleep(0.1)
    raise AssertionError("refused 200 times")


@pytest.mark.parametrize(
    ("lasting", "patience"), [(1.5, 2.0), pytest.param(SECONDS, 60.0, marks=pytest.mark.slow)]
)
def test_a_crowd_of_hostile_clients_is_held_off(lasting: float, patience: float, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with limited(log, "--send-timeout", "1") as (process, port):
        crowd = Crowd(port, KINDS, ending, patience)
        # Clients that were refused hold a descriptor until the server has noticed their end.
        held_off(process, crowd, lasting, lambda: heard(port), DESCRIPTORS - 2 * SPARE_DESCRIPTORS, 128 << 20)
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize(
    "content",
    [PINGS * 33, frame(b"[]") * 400_000, frame(b'{"text": "', TEXT) + frame(b"", 0) * 600_000],
    ids=["unread answers to pings", "small messages", "empty fragments"],
)
def test_what_is_no_text_fills_no_memory(content: bytes, tmp_path: Path) -> None:
    async def send(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await open_socket(reader, writer)
        await unread(writer, content, seconds=1)

    with limited(tmp_path / "log") as (process, port):
        asyncio.run(heard(port))  # type: ignore[arg-type]
        before = most_memory(process)
        asyncio.run(send(port))
        asyncio.run(heard(port))  # type: ignore[arg-type]
        assert most_memory(process) - before < 3 << 20
