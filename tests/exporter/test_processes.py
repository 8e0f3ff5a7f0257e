"""A process answers, fails with its message, and ends when it is closed or when its parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import psutil
import pytest

from exporter.errors import ExportError, ReferenceProcessError
from exporter.processes import Channel, Process
from tests.support.paths import ROOT


def echo(connection: Connection, first: object) -> None:
    connection.send((first, os.getpid()))
    while True:
        connection.send(connection.recv())


def compute(connection: Connection, first: object) -> None:
    connection.send((first, os.getpid()))
    while True:
        pass


def fail(connection: Connection, error: Exception) -> None:
    print("among the values?")
    raise error


def end(connection: Connection, status: int) -> None:
    os._exit(status)


def ask(connection: Connection, channel: Channel) -> None:
    channel.receive()
    channel.send("asked")
    connection.send(channel.receive())
    channel.close()


def ask_until_it_ends(connection: Connection, channel: Channel) -> None:
    while True:
        connection.send(channel.receive())


def test_values_go_there_and_back() -> None:
    with Process(echo, "first") as process:
        first, child = process.receive()
        assert first == "first" and child != os.getpid()
        process.send({"value": 3})
        assert process.receive() == {"value": 3}
        os.kill(child, signal.SIGINT)  # as Ctrl-C in a terminal, which its parent handles
        process.send(4)
        assert process.receive() == 4
    assert not psutil.pid_exists(child)


def test_another_process_asks_in_place_of_this_one() -> None:
    with Process(echo, "first") as process:
        with Process(ask, process.shared()) as asking:
            assert asking.receive() == "asked"
        process.send("again")
        assert process.receive() == "again"


def test_a_process_that_ends_is_an_error_for_another_that_asks() -> None:
    with Process(echo, "first") as process, Process(ask_until_it_ends, process.shared()) as asking:
        _, child = asking.receive()
        os.kill(child, signal.SIGKILL)
        with pytest.raises(ReferenceProcessError, match="ended before it had answered"):
            asking.receive()


@pytest.mark.parametrize(
    ("error", "message"),
    [(ExportError("what to do"), "^what to do$"), (KeyError("key"), "Traceback(.|\n)*'key'")],
)
def test_a_function_that_raises_is_an_error_with_its_message(error: Exception, message: str) -> None:
    with Process(fail, error) as process, pytest.raises(ReferenceProcessError, match=message):
        process.receive()


def test_a_value_for_a_function_that_raised_is_an_error_with_its_message() -> None:
    # More than a pipe holds, so that it is still being sent when the process ends.
    with Process(fail, ExportError("what to do")) as process:
        with pytest.raises(ReferenceProcessError, match="what to do"):
            process.send(bytes(2**24))
        with pytest.raises(ReferenceProcessError, match="exit status 0"):
            process.send(1)


def test_a_process_that_ends_by_itself_is_an_error_with_its_status() -> None:
    with Process(end, 7) as process:
        with pytest.raises(ReferenceProcessError, match="exit status 7"):
            process.receive()
        with pytest.raises(ReferenceProcessError, match="exit status 7"):
            process.send(1)


@pytest.mark.parametrize("function", [echo, compute])
def test_it_ends_with_its_parent_however_that_ends(function: Callable[..., None]) -> None:
    program = (
        "from exporter.processes import Channel, Process\n"
        f"from tests.exporter.test_processes import {function.__name__} as function\n"
        "if __name__ == '__main__':\n"
        "    process = Process(function, 1)\n"
        "    print(process.receive()[1], flush=True)\n"
        "    import os, signal\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    child = int(done.stdout)
    for _ in range(600):
        if not psutil.pid_exists(child):
            return
        time.sleep(0.1)
    pytest.fail("the process lives on")
