"""The command: its options, its end, its processes, and 200 clients at once."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from openai import AsyncOpenAI

from kokoro_server import __main__
from tests.support.paths import ROOT

CLIENTS, LONG = 200, 5


@contextmanager
def command(
    *arguments: str, descriptors: int | None = None, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Starts a server of the fake bundle with so many descriptors, and yields its process and port."""
    limited = [] if descriptors is None else ["prlimit", f"--nofile={descriptors}"]
    process = subprocess.Popen(
        [*limited, sys.executable, "-m", "tests.support.fakes.speech_server", *arguments, "--port", "0"],
        cwd=ROOT, env={**os.environ, **variables}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        started = ""
        while "Application startup complete" not in started:
            line = process.stderr.readline()
            assert line, started
            started += line
        yield process, int(re.search(r"http://127\.0\.0\.1:(\d+)", started)[1])  # type: ignore[index]
    finally:
        # With its worker processes, which would keep the pipes open.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


def begun(port: int, text: str) -> http.client.HTTPResponse:
    """Returns an answer whose first bytes were read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/v1/audio/speech", json.dumps({"input": text, "response_format": "pcm"}))
    answer = connection.getresponse()
    assert answer.read(100)
    return answer


def figures(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics")
    content = connection.getresponse().read()
    connection.close()
    assert b"kokoro_requests_total" in content
    return content


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_running_answers_are_finished_before_the_end(number: signal.Signals) -> None:
    with command("0.1") as (process, port):
        answer = begun(port, "One sentence, and another one. " * 8)
        process.send_signal(number)
        assert len(answer.read()) > 100_000
        assert process.wait(20) == 0
        with pytest.raises(ConnectionRefusedError):
            begun(port, "Hi.")


def test_answers_that_take_longer_than_the_grace_are_broken_off() -> None:
    with command("0.2", "--grace", "1") as (process, port):
        answers = [begun(port, "One sentence, and another one. " * 100) for _ in range(3)]
        start = time.monotonic()
        process.terminate()
        for answer in answers:
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                answer.read()
        assert process.wait(20) == 0
        assert time.monotonic() - start < 10
        _, errors = process.communicate()
    assert errors.count("broken off") == 2 and "2 times more" in errors and "Traceback" not in errors


def test_several_processes_serve_and_count_together_and_end_together() -> None:
    with command("0.01", "--workers", "2", "--wyoming-port", "0") as (process, port):
        workers = psutil.Process(process.pid).children(recursive=True)
        answers = [begun(port, "Hi. " * 20) for _ in range(6)]
        for answer in answers:
            answer.read()
        # The last one may be counted a little after its end.
        while b'kokoro_requests_total{status="200"} 6.0' not in figures(port):
            time.sleep(0.01)
        process.terminate()
        assert process.wait(30) == 0
        assert psutil.wait_procs(workers, timeout=10)[1] == []


def test_worker_processes_end_with_the_one_that_started_them() -> None:
    with command("0.01", "--workers", "2") as (process, _):
        workers = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        assert len(workers) >= 2 and psutil.wait_procs(workers, timeout=20)[1] == []


async def answers_of(port: int, sentences: list[int]) -> list[tuple[float, int]]:
    """Returns when the answer to each of the texts ended, and its bytes; all are asked for at once."""
    start = time.monotonic()
    async with AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", timeout=60) as client:

        async def one(count: int) -> tuple[float, int]:
            text = "One sentence, and another one. " * count
            answer = await client.audio.speech.create(
                model="tts-1", voice="alloy", input=text, response_format="pcm"
            )
            return time.monotonic() - start, len(answer.content)

        return await asyncio.gather(*map(one, sentences))


def test_long_answers_take_no_more_memory_than_short_ones_and_a_crowd_does_not_wait_for_them() -> None:
    # With an arena for each thread, the allocator keeps megabytes, and how many is chance.
    with command("0.002", MALLOC_ARENA_MAX="1") as (process, port):
        measured = psutil.Process(process.pid)
        asyncio.run(answers_of(port, LONG * [20]))
        # Before the crowd: what that leaves with the allocator would serve for much of what is measured.
        before = measured.memory_info().rss
        sent = sum(size for _, size in asyncio.run(answers_of(port, LONG * [80])))
        grown = measured.memory_info().rss - before
        answers = asyncio.run(answers_of(port, [*(LONG * [80]), *((CLIENTS - LONG) * [1])]))
        crowd = measured.memory_info().rss - before
        process.terminate()
        assert process.wait(20) == 0
    assert sent > 60 << 20
    assert grown < sent / 3
    long, short = answers[:LONG], answers[LONG:]
    assert min(size for _, size in long) > 40 * max(size for _, size in short) > 0
    assert max(seconds for seconds, _ in short) < min(seconds for seconds, _ in long)
    # Each holds a piece or two: its samples, and those on their way.
    assert crowd < CLIENTS * (2 << 20)


def test_a_bundle_that_is_not_there_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kokoro_server", "/nowhere", "--port", "0"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 4 and "Traceback" not in done.stderr
    assert re.search(r"^error: .*/nowhere", done.stderr, re.MULTILINE)


def test_a_wrong_number_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        __main__.main(["bundle", "--workers", "0"])
    assert "expected a whole number of at least 1, found '0'" in capsys.readouterr().err


def test_the_packages_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "starlette.py").write_text("raise ImportError('No module named starlette')")
    done = subprocess.run(
        [sys.executable, "-m", "kokoro_server", "bundle"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 5 and done.stderr.startswith("error: ") and "starlette" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_document_names_every_option() -> None:
    document = (ROOT / "docs/server.md").read_text(encoding="utf-8")
    options = {option for action in __main__._parser()._actions for option in action.option_strings}
    assert all(f"`{option}`" in document for option in options - {"-h", "--help"})
