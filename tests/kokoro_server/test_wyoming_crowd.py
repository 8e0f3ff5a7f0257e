"""Many hostile clients of Wyoming at a time, and one that only wants to hear something.

`make prove` runs the long form; `docs/fuzz.md` has its figures.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random

import psutil
import pytest
from wyoming.client import AsyncTcpClient
from wyoming.tts import Synthesize

from kokoro_server.limits import WYOMING_CONNECTIONS
from tests.kokoro_server.test_process import figures
from tests.kokoro_server.test_wyoming_events import SOUND
from tests.support.fakes.wyoming_client import DESCRIBE, message
from tests.support.fuzzing.bundles import damaged_bytes
from tests.support.paths import ROOT

SECONDS = float(os.environ.get("KOKORO_WYOMING_SECONDS", "600"))
DESCRIPTORS = 128
AT_ONCE = 2 * WYOMING_CONNECTIONS
LONG = message({"type": "synthesize"}, b'{"text": "%s"}' % (b"One sentence, and another one. " * 4_000))


async def silent(random: Random, writer: asyncio.StreamWriter) -> None:
    """Sends nothing."""


async def slow(random: Random, writer: asyncio.StreamWriter) -> None:
    for byte in DESCRIBE:
        if writer.transport.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(0.2)


async def half(random: Random, writer: asyncio.StreamWriter) -> None:
    whole = random.choice(SOUND)
    writer.write(whole + LONG[: random.randrange(len(LONG))])


async def giant(random: Random, writer: asyncio.StreamWriter) -> None:
    length = random.choice(("data_length", "payload_length"))
    writer.write(message({"type": "describe", length: 4_000_000_000}) + bytes(4 << 20))


async def endless(random: Random, writer: asyncio.StreamWriter) -> None:
    writer.write(b"x" * (4 << 20))


async def nonsense(random: Random, writer: asyncio.StreamWriter) -> None:
    sound = random.choices(SOUND, k=3)
    writer.write(damaged_bytes(random, b"".join(sound[:2]), sound[2]))
    writer.write_eof()


async def deaf(random: Random, writer: asyncio.StreamWriter) -> None:
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(random.choice((LONG, DESCRIBE * 2_000, b"{}\n" * 20_000)))
    await asyncio.sleep(3)
    writer.transport.abort()


async def reset(random: Random, writer: asyncio.StreamWriter) -> None:
    writer.write(random.choice((b"", DESCRIBE, LONG)))
    await asyncio.sleep(random.random() / 10)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


KINDS = (silent, slow, half, giant, endless, nonsense, deaf, reset)


async def hostile(port: int, seed: int, seconds: float) -> str:
    """Returns what a hostile client was, and what it got last; it leaves after a time without an answer."""
    random = Random(seed)
    kind = random.choice(KINDS)
    got = b""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await kind(random, writer)
        while part := await asyncio.wait_for(reader.read(1 << 16), seconds):
            got = (got + part)[-2_000:]
    except TimeoutError:
        return f"{kind.__name__}: left"
    except OSError:
        pass
    finally:
        writer.transport.abort()
    ending = re.findall(rb'"type": "([a-z-]+)"', got)
    return f"{kind.__name__}: {ending[-1].decode() if ending else 'closed'}"


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


async def crowd(port: int, http_port: int, lasting: float, patience: float) -> tuple[Counter[str], list[int]]:
    """Returns what the clients that came in `lasting` seconds were and got, and how often one had to ask."""
    seeds, found, asked = count(), Counter[str](), []
    end = time.monotonic() + lasting

    async def one_after_the_other() -> None:
        while time.monotonic() < end:
            found[await hostile(port, next(seeds), patience)] += 1

    everybody = asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    while not everybody.done():
        asked.append(await heard(port))
        await asyncio.to_thread(figures, http_port)
        await asyncio.sleep(0.2)
    await everybody
    return found, asked


@contextmanager
def limited(log: Path) -> Iterator[tuple[psutil.Process, int, int]]:
    """Starts a server with few descriptors; yields its process, its port for HTTP and that for Wyoming."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--port", "0", "--wyoming-port", str(port), "--send-timeout", "1")
    command = [sys.executable, "-m", "tests.support.fakes.speech_server", "0.01", *options]
    with log.open("wb") as file:
        shell = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh"]
        process = subprocess.Popen([*shell, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=file)
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())):
            assert process.poll() is None
            time.sleep(0.05)
        yield psutil.Process(process.pid), int(found[1]), port
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()


async def most_descriptors(process: psutil.Process) -> int:
    most = 0
    with suppress(asyncio.CancelledError):
        while True:
            most = max(most, process.num_fds())
            await asyncio.sleep(0.02)
    return most


@pytest.mark.parametrize(
    ("lasting", "patience"), [(3.0, 2.0), pytest.param(SECONDS, 60.0, marks=pytest.mark.slow)]
)
def test_a_crowd_of_hostile_clients_is_held_off(lasting: float, patience: float, tmp_path: Path) -> None:
    async def run() -> tuple[Counter[str], list[int], int]:
        watching = asyncio.create_task(most_descriptors(process))
        found, asked = await crowd(port, http_port, lasting, patience)
        watching.cancel()
        return found, asked, await watching

    log = tmp_path / "log"
    with limited(log) as (process, http_port, port):
        asyncio.run(heard(port))
        before, memory = process.num_fds(), process.memory_info().rss
        found, asked, most = asyncio.run(run())
        while process.num_fds() > before:
            time.sleep(0.05)
        grown = process.memory_info().rss - memory
    for kind, number in sorted(found.items()):
        print(kind, number)
    print(f"descriptors {before} to {most}, grown by {grown >> 20} MB, log of {log.stat().st_size >> 10} kB")
    print(f"heard {len(asked)} times, after asking {dict(Counter(asked))} times")
    assert "Traceback" not in log.read_text() and most <= before + WYOMING_CONNECTIONS + 4
    # What 32 connections held at a time, and not what thousands of clients sent or announced.
    assert grown < (4 << 20) * WYOMING_CONNECTIONS
