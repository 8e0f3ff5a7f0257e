"""Hostile requests get typed answers, delay nobody, and leave nothing behind."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from tests.kokoro_server.test_connections import health
from tests.kokoro_server.test_process import command
from tests.support.fuzzing.http_requests import Hostile, cases, damaged

SECONDS = float(os.environ.get("KOKORO_HOSTILE_SECONDS", "600"))
PATIENCE = 0.5
"""Seconds until a client leaves whose request the server takes for the beginning of one."""


def status(port: int, hostile: Hostile, chance: random.Random) -> int:
    """Returns the status of the first answer, or 0 without one; the answer is read as a client reads it."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        with suppress(ConnectionError):
            middle = chance.randrange(len(hostile.content) + 1)
            for part in (hostile.content[:middle], hostile.content[middle:]):
                client.sendall(part)
        client.settimeout(PATIENCE)
        answer = http.client.HTTPResponse(client, method=hostile.content.partition(b" ")[0].decode("latin-1"))
        try:
            answer.begin()
            content = answer.read()
        except (http.client.HTTPException, OSError):
            return 0
    if answer.status >= 400 and "json" in (answer.getheader("content-type") or "") and content:
        assert json.loads(content)["error"]["message"]
    return answer.status


def is_alive(process: psutil.Process, port: int) -> None:
    assert health(port) == 200
    end = time.monotonic() + 20
    while process.num_fds() > 12:
        assert time.monotonic() < end
        time.sleep(0.05)


def attack(requests: Iterator[Hostile], chance: random.Random, descriptors: int = 1_024) -> Counter[str]:
    """Sends requests to a server, which must end in order afterwards, and returns what answered them."""
    counts: Counter[str] = Counter()
    with command("0", descriptors=descriptors) as (process, port):
        for number, hostile in enumerate(requests):
            found = status(port, hostile, chance)
            counts[f"{hostile.kind}: {found or 'no answer'}"] += 1
            wrong = found not in hostile.statuses if hostile.statuses else found >= 500
            assert not wrong, (found, hostile.kind, hostile.content[:300])
            if number % 100 == 0:
                is_alive(psutil.Process(process.pid), port)
        is_alive(psutil.Process(process.pid), port)
        grown = psutil.Process(process.pid).memory_info().rss
        process.terminate()
        assert process.wait(20) == 0
        errors = process.communicate()[1]
    assert "Traceback" not in errors and len(errors) < 20_000, errors[:3_000]
    assert grown < 400 << 20
    return counts


def test_every_hostile_request_of_the_table_has_a_typed_answer() -> None:
    counts = attack(cases(), random.Random(0))
    assert counts.total() > 700


@pytest.mark.slow
def test_damaged_requests_for_ten_minutes() -> None:
    chance = random.Random(1)
    end = time.monotonic() + SECONDS

    def requests() -> Iterator[Hostile]:
        while time.monotonic() < end:
            yield damaged(chance)

    counts = attack(requests(), chance)
    print(f"\n{counts.total()} requests in {SECONDS:g} s: {dict(sorted(counts.items()))}")
    assert counts.total() > 100
