"""The server speaks from a whole bundle, in several processes that share its pages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from runtime_min import Bundle, encode
from runtime_min.text import find_g2p
from tests.e2e.conftest import ROOT, environment

if TYPE_CHECKING:
    # It takes a second to import.
    from openai import OpenAI

pytestmark = pytest.mark.e2e

HOLA = "¡Hola! ¿Qué tal? Muy bien, gracias."


@pytest.fixture(scope="module")
def process(directory: Path) -> Iterator[tuple[psutil.Process, OpenAI]]:
    from openai import OpenAI

    started = subprocess.Popen(
        [sys.executable, "-m", "kokoro_server", directory, "--port", "0", "--workers", "2"],
        env=environment(), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stderr is not None
    lines = []
    while sum("Application startup complete" in line for line in lines) < 2:
        lines.append(started.stderr.readline())
        assert lines[-1], lines
    port = re.search(r"http://127\.0\.0\.1:(\d+)", "".join(lines))[1]  # type: ignore[index]
    with OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as client:
        yield psutil.Process(started.pid), client
    started.terminate()
    assert started.wait(30) == 0
    started.stderr.close()


def test_the_server_speaks_as_the_bundle_does(process: tuple[psutil.Process, OpenAI], bundle: Bundle) -> None:
    def answer(_: int) -> bytes:
        return process[1].audio.speech.create(
            model="kokoro", voice="ef_dora", input=HOLA, response_format="pcm", speed=1.5
        ).content  # fmt: skip

    with ThreadPoolExecutor(6) as pool:
        answers = set(pool.map(answer, range(6)))
    pieces = bundle.stream(HOLA, "ef_dora", speed=1.5, g2p=find_g2p("es")[1])
    assert answers == {b"".join(encode(piece.samples, "pcm16") for piece in pieces)}


def test_its_processes_share_the_pages_of_the_bundle(
    process: tuple[psutil.Process, OpenAI], directory: Path
) -> None:
    parameters = directory / "parameters.bin"
    maps = [
        mapped
        for worker in process[0].children(recursive=True)
        for mapped in worker.memory_maps()
        if mapped.path == str(parameters)
    ]
    assert len(maps) == 2
    for mapped in maps:
        assert mapped.rss > 0.9 * parameters.stat().st_size
        # PSS divides a page among all processes that map it, the tests' included.
        assert mapped.pss <= 0.55 * mapped.rss and mapped.private_dirty == 0
