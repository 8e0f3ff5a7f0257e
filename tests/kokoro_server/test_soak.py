"""Thousands of requests by clients that finish, leave or read slowly leave nothing behind in the server."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Callable

import psutil
import pytest

from tests.kokoro_server.test_process import command

REQUESTS = int(os.environ.get("KOKORO_SOAK_REQUESTS", "5000"))
AT_ONCE = 16
MEASURED = 10
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
SHORT, LONG = "One sentence, and another one.", "One sentence, and another one. " * 400
Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter, random.Random], Awaitable[None]]


def request(chance: random.Random, text: str, **fields: object) -> bytes:
    path = chance.choice(("/v1/audio/speech", "/v1/audio/speech", "/dev/captioned_speech"))
    asked = {"input": text, "response_format": chance.choice(FORMATS), **fields}
    asked |= chance.choice(({}, {"stream_format": "sse"}, {"stream": False}))
    body = json.dumps(asked).encode()
    return b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body)


async def whole(reader: asyncio.StreamReader) -> None:
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    content = b""
    while not content.endswith(b"\r\n0\r\n\r\n"):
        content += await reader.read(1 << 16)


async def finishes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random) -> None:
    for _ in range(2):
        writer.write(request(chance, SHORT))
        await whole(reader)


async def leaves_at_once(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(request(chance, LONG))


async def leaves_early(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(request(chance, LONG))
    await reader.readexactly(chance.randrange(1, 5_000))


async def leaves_unread(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(request(chance, LONG))
    await asyncio.sleep(0.3)


async def reads_slowly(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(request(chance, LONG))
    for _ in range(chance.randrange(1, 20)):
        await reader.read(1_000)
        await asyncio.sleep(0.02)


async def asks_nonsense(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(chance.choice((b"\0" * 100, request(chance, SHORT, voice="nobody"), b"GET /v1/models HT")))
    await asyncio.sleep(0.01)


CLIENTS: tuple[Client, ...] = (
    finishes, finishes, finishes, leaves_at_once, leaves_early, leaves_unread, reads_slowly, asks_nonsense,
)  # fmt: skip


async def serve_many(port: int, count: int, chance: random.Random) -> Counter[str]:
    places = asyncio.Semaphore(AT_ONCE)
    done: Counter[str] = Counter()

    async def one(client: Client) -> None:
        async with places:
            # A small buffer, so that the server notices who does not read.
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 12)
            try:
                await asyncio.wait_for(client(reader, writer, chance), 60)
            finally:
                writer.transport.abort()
            done[client.__name__] += 1

    await asyncio.gather(*(one(chance.choice(CLIENTS)) for _ in range(count)))
    return done


def at_rest(process: subprocess.Popen[str]) -> tuple[int, int, int, float]:
    """Returns the tasks, descriptors and threads of a server, and its resident memory in MiB."""
    measured = psutil.Process(process.pid)
    assert process.stderr is not None
    found = [(0, 0, 0)]
    # Pieces of answers whose clients left are still computed, and an encoder has threads of its own.
    while len(found) < 4:
        time.sleep(0.2)
        process.send_signal(signal.SIGUSR1)
        while not (line := process.stderr.readline()).endswith(" tasks\n"):
            pass
        now = int(line.split()[0]), measured.num_fds(), measured.num_threads()
        found = [*found, now] if now == found[-1] else [now]
    return *now, measured.memory_info().rss / 2**20


@pytest.mark.slow
def test_nothing_is_left_of_five_thousand_requests() -> None:
    chance = random.Random(0)
    done: Counter[str] = Counter()
    with command("0") as (process, port):
        rows = []
        for _ in range(MEASURED + 1):
            done += asyncio.run(serve_many(port, REQUESTS // MEASURED, chance))
            rows.append(at_rest(process))
            print(f"{done.total():6} clients: {rows[-1]}", flush=True)
        start = time.monotonic()
        process.terminate()
        assert process.wait(60) == 0
        seconds = time.monotonic() - start
        errors = process.communicate()[1]
    print(dict(done), f"ended in {seconds:.2f} s")
    first, *_, last = rows
    assert last[:2] == first[:2]
    # A pool starts its threads when they are first needed.
    assert last[2] <= first[2] + 2
    half = len(rows) // 2
    assert max(row[3] for row in rows[half:]) < max(row[3] for row in rows[:half]) + 4
    assert "running task" not in errors and "Traceback" not in errors
