"""Hostile clients of a server with few descriptors, and one client that only wants to hear something."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import psutil

from tests.support.paths import ROOT

DESCRIPTORS = 128
AT_ONCE = 64

Hostile = Callable[[Random, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Sends what such a client sends."""
Heard = Callable[[], Awaitable[int]]
"""Returns how often a client had to ask until it heard its text."""


async def reset(writer: asyncio.StreamWriter, after: float) -> None:
    """Resets a connection after some seconds."""
    await asyncio.sleep(after)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def unread(writer: asyncio.StreamWriter, content: bytes, seconds: float = 3) -> None:
    """Sends without reading what comes back, and leaves after some seconds."""
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(content)
    await asyncio.sleep(seconds)
    writer.transport.abort()


@contextmanager
def limited(log: Path, *options: str) -> Iterator[tuple[psutil.Process, int]]:
    """Starts a server of the fake bundle with few descriptors; yields its process and its port for HTTP."""
    command = [sys.executable, "-m", "tests.support.fakes.speech_server", "0.01", "--port", "0", *options]
    with log.open("wb") as file:
        shell = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh"]
        process = subprocess.Popen([*shell, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=file)
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())):
            assert process.poll() is None
            time.sleep(0.05)
        yield psutil.Process(process.pid), int(found[1])
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()


@dataclass(frozen=True)
class Crowd:
    """Clients of one port, `AT_ONCE` at a time."""

    port: int
    kinds: Sequence[Hostile]
    ending: Callable[[bytes], str]
    """Names the end of the bytes that a client got."""
    patience: float
    """Seconds after which a client leaves that hears nothing."""

    async def _client(self, seed: int) -> str:
        random = Random(seed)
        kind = random.choice(self.kinds)
        got = b""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            await kind(random, reader, writer)
            while part := await asyncio.wait_for(reader.read(1 << 16), self.patience):
                got = (got + part)[-2_000:]
        except TimeoutError:
            return f"{kind.__name__}: left"
        except OSError:
            pass
        finally:
            writer.transport.abort()
        return f"{kind.__name__}: {self.ending(got)}"

    async def come(self, seconds: float, heard: Heard) -> tuple[Counter[str], list[int]]:
        """Returns what the clients of so many seconds were and got, and how often one had to ask."""
        seeds, found, asked = count(), Counter[str](), []
        end = time.monotonic() + seconds

        async def one_after_the_other() -> None:
            while time.monotonic() < end:
                found[await self._client(next(seeds))] += 1

        everybody = asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
        while not everybody.done():
            asked.append(await heard())
            await asyncio.sleep(0.2)
        await everybody
        return found, asked


def held_off(
    process: psutil.Process, crowd: Crowd, seconds: float, heard: Heard, most: int, grown: int
) -> None:
    """Asserts that a server stays within so many descriptors and bytes, and prints what came.

    Args:
        process: the server.
        crowd: what comes.
        seconds: time in which clients come.
        heard: a client that is heard meanwhile.
        most: descriptors that the crowd may take.
        grown: bytes by which the server may grow.
    """

    async def run() -> tuple[Counter[str], list[int], int]:
        watching = asyncio.create_task(_most_descriptors(process))
        found, asked = await crowd.come(seconds, heard)
        watching.cancel()
        return found, asked, await watching

    asyncio.run(heard())  # type: ignore[arg-type]
    before, memory = process.num_fds(), most_memory(process)
    found, asked, descriptors = asyncio.run(run())
    while process.num_fds() > before:
        time.sleep(0.05)
    larger = most_memory(process) - memory
    for kind, number in sorted(found.items()):
        print(kind, number)
    print(f"descriptors {before} to {descriptors}, grown by {larger >> 20} MB")
    print(f"heard {len(asked)} times, after asking {dict(Counter(asked))} times")
    assert descriptors <= before + most
    assert larger < grown


def most_memory(process: psutil.Process) -> int:
    """Returns the most bytes that a process has had resident."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) << 10


async def _most_descriptors(process: psutil.Process) -> int:
    most = 0
    with suppress(asyncio.CancelledError):
        while True:
            most = max(most, process.num_fds())
            await asyncio.sleep(0.02)
    return most
