"""Ray Serve, as examples/serve_ray.py runs it: a queue brings a replica more, and a death loses no answer."""

from __future__ import annotations

import http.client
import json
import logging
import os
import re
import runpy
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest

from runtime_min import Bundle, encode
from tests.support.paths import ROOT

# Ray's processes take 40 seconds of a core.
pytestmark = pytest.mark.machines

EXAMPLES = ROOT / "examples"
LONG = "One sentence, and another one. "
# The first takes a second, if nothing else is computed.
TEXTS = (40 * LONG, 15 * LONG, "Hello, world!")
CLIENTS = 4
SECONDS = 120.0
stream: Callable[..., Iterator[bytes]] = runpy.run_path(str(EXAMPLES / "ask_again.py"))["stream"]


@contextmanager
def served(bundle: Path, place: Path, *options: str) -> Iterator[tuple[psutil.Process, int]]:
    """Starts the example, and yields its process and port; at last it must end in good order."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
        # Ray keeps files in the user's directory, and reports its use over the network.
        "HOME": str(place), "RAY_USAGE_STATS_ENABLED": "0",
        # Beside other tests, Ray's processes would hardly run, and the proxy has 15 seconds to begin.
        "RAY_worker_niceness": "0", "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    }  # fmt: skip
    command = [sys.executable, str(EXAMPLES / "serve_ray.py"), str(bundle), "--port", str(port), *options]
    with (place / "errors").open("w+") as errors:
        process = subprocess.Popen(
            command, env=environment, cwd=place, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        try:
            while not (line := process.stdout.readline()).startswith("serving at"):
                assert line, Path(errors.name).read_text(encoding="utf-8")
            yield psutil.Process(process.pid), port
            process.terminate()
            assert process.wait(SECONDS) == 0
        finally:
            # Some of Ray's processes outlive the one that started them, if that did not end in good order.
            if process.poll() is None:
                for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                    each.kill()
            process.wait()
            process.stdout.close()


def replicas(server: psutil.Process) -> list[psutil.Process]:
    """The processes that Ray calls replicas."""
    return [each for each in server.children(recursive=True) if "ServeReplica" in each.name()]


class Answering:
    """The replicas that have answered, by the times at which their processes began."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: set[bytes] = set()

    def are(self, number: int) -> bool:
        """Asks one of them, and returns whether there were so many by now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.request("GET", "/metrics")
        figures = connection.getresponse().read()
        self.seen |= set(re.findall(rb"(?m)^process_start_time_seconds (.+)$", figures))
        connection.close()
        return len(self.seen) == number


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def request(text: str) -> dict[str, object]:
    return {"input": text, "voice": "af_heart", "response_format": "pcm"}


def status(port: int, text: str) -> tuple[int, str | None, str]:
    """The status of an answer, when to come again, and the text of a refusal."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("POST", "/v1/audio/speech", json.dumps(request(text)))
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers["Retry-After"], "" if answer.status == 200 else content.decode()


def test_more_requests_than_may_wait_are_refused_and_a_death_loses_none(
    reading_bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Bundle.load(reading_bundle) as bundle:
        expected = {
            text: b"".join(encode(piece.samples, "pcm16") for piece in bundle.stream(text, "af_heart"))
            for text in TEXTS
        }
    enough = Event()

    def client(number: int) -> list[tuple[str, bytes]]:
        answers: list[tuple[str, bytes]] = []
        while not enough.is_set():
            text = TEXTS[(number + len(answers)) % len(TEXTS)]
            answers.append((text, b"".join(stream(url, request(text)))))
        return answers

    options = ("--max-replicas", "2", "--queue", str(CLIENTS))
    with served(reading_bundle, tmp_path, *options) as (server, port), ThreadPoolExecutor(32) as pool:
        url = f"http://127.0.0.1:{port}"
        answering = Answering(port)
        assert answering.are(1) and len(replicas(server)) == 1
        answers = Counter(pool.map(status, [port] * 32, [TEXTS[1]] * 32))
        spoken = answers.pop((200, None, ""))
        assert spoken >= CLIENTS and spoken + answers.total() == 32
        for code, retry_after, refusal in answers:
            assert (code, retry_after) == (503, "5") and f"max_queued_requests={CLIENTS}" in refusal
        assert answers

        with caplog.at_level(logging.WARNING, "ask_again"):
            running = [pool.submit(client, number) for number in range(CLIENTS)]
            wait_until(lambda: answering.are(2))
            both = sorted(replicas(server), key=psutil.Process.create_time)
            parameters = str(reading_bundle / "parameters.bin")
            assert [parameters in {each.path for each in one.memory_maps()} for one in both] == [True, True]
            # The older one has answers that were begun before there was another.
            both[0].kill()
            wait_until(lambda: answering.are(3))
            enough.set()
            bodies = [answer for each in running for answer in each.result(SECONDS)]
        assert all(content == expected[text] for text, content in bodies)
        assert {text for text, _ in bodies} == set(TEXTS)
        assert any("asking again from byte" in line and "byte 0" not in line for line in caplog.messages)

        # What was begun is finished at the end.
        last = stream(url, request(TEXTS[0]))
        begun = next(last)
        server.terminate()
        assert begun + b"".join(last) == expected[TEXTS[0]]
