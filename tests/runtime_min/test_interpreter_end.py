"""A program that ends while its threads speak ends as if they did not: in silence and with its own code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import environment

PROGRAM = """
import asyncio, os, sys, threading, time, warnings
from runtime_min import Bundle

warnings.simplefilter("ignore")

bundle = Bundle.load(sys.argv[1])
begun = threading.Semaphore(0)

async def hear(stream):
    async for piece in stream:
        pass

def listen():
    begun.release()
    while True:
        {listen}

for _ in range(3):
    threading.Thread(target=listen, daemon=True).start()
for _ in range(3):
    begun.acquire()
time.sleep(float(sys.argv[2]))
{end}
"""
LISTEN = {
    "stream": "for piece in bundle.stream(phonemes='abc abc ' * 20): pass",
    "with": "with bundle.stream(phonemes='abc abc ' * 20) as stream: list(stream)",
    "async": "asyncio.run(hear(bundle.stream(phonemes='abc abc ' * 20)))",
    "synthesize": "bundle.synthesize(phonemes='abc abc')",
}
ENDS = {
    "returns": ("", 0),
    "exits": ("sys.exit(3)", 3),
    "fails": ("raise KeyError('of the main thread')", 1),
    "_exits": ("os._exit(4)", 4),
}


def end(bundle: Path, listen: str, ending: str, after: float) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(listen=LISTEN[listen], end=ENDS[ending][0])
    command = [sys.executable, "-c", program, str(bundle), str(after)]
    return subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def assert_quiet(done: subprocess.CompletedProcess[str], ending: str) -> None:
    assert done.returncode == ENDS[ending][1], done
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    if ending == "fails":
        assert lines[-1] == "KeyError: 'of the main thread'"
        assert done.stderr.count("Traceback") == 1 and "Thread" not in done.stderr
    else:
        assert lines == []


@pytest.mark.parametrize(
    ("listen", "ending"),
    [
        ("with", "returns"),
        ("async", "returns"),
        ("synthesize", "returns"),
        *(("stream", each) for each in ENDS),
    ],
)
def test_daemon_threads_that_speak_end_in_silence(speaking_bundle: Path, listen: str, ending: str) -> None:
    assert_quiet(end(speaking_bundle, listen, ending, 0.05), ending)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDS)
def test_at_any_moment(speaking_bundle: Path, ending: str) -> None:
    for number in range(40):
        listen = tuple(LISTEN)[number % len(LISTEN)]
        assert_quiet(end(speaking_bundle, listen, ending, number * 0.005), ending)


def test_the_main_thread_is_told_of_the_end(speaking_bundle: Path) -> None:
    program = """
import atexit, sys

def late():
    try:
        bundle.synthesize(phonemes="abc")
    except ClosedBundleError:
        print("refused")

atexit.register(late)
from runtime_min import Bundle
from runtime_min.errors import ClosedBundleError

bundle = Bundle.load(sys.argv[1])
bundle.synthesize(phonemes="abc")
"""
    command = [sys.executable, "-c", program, str(speaking_bundle)]
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")
