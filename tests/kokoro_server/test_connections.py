"""Every request has a time, and connections leave descriptors for others."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psutil
import pytest

from kokoro_server import connections, limits
from kokoro_server.connections import Connection, Listener
from tests.kokoro_server.test_clients import wait_until
from tests.kokoro_server.test_process import command
from tests.support.fakes.speech_server import FakeBundle, serving

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
SPEECH = b"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
DESCRIPTORS = limits.FEWEST_DESCRIPTORS
PLACES = DESCRIPTORS - limits.FILES - limits.WYOMING_CONNECTIONS - limits.REFUSED_CONNECTIONS


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def answer(client: socket.socket) -> http.client.HTTPResponse:
    found = http.client.HTTPResponse(client)
    found.begin()
    return found


def stalled(port: int) -> socket.socket:
    """Returns a connection that was kept alive and began a second request."""
    client = connected(port)
    client.sendall(HEALTH)
    assert answer(client).read()
    client.sendall(HEALTH[:9])
    return client


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (b"", 0),
        (HEALTH[:9], 0),
        (HEALTH + HEALTH[:9], 1),
        (HEALTH + HEALTH + HEALTH[:9], 2),
        (SPEECH % 9 + b"{", 1),
        (SPEECH % 1_000_000 + b"{", 1),
        (SPEECH % 2 + b"{}" + HEALTH[:9], 1),
    ],
)
def test_every_request_has_a_time(monkeypatch: pytest.MonkeyPatch, sent: bytes, answers: int) -> None:
    for module in ("app", "connections"):
        monkeypatch.setattr(f"kokoro_server.{module}.REQUEST_SECONDS", 0.3)
    monkeypatch.setattr("kokoro_server.serve.IDLE_SECONDS", 100)
    with serving(FakeBundle()) as running, connected(running.port) as client:
        client.sendall(sent)
        content = b""
        while part := client.recv(1 << 16):
            content += part
            # What a client sends after its answer gives it no more time.
            client.sendall(b"x")
            time.sleep(0.05)
        assert content.count(b"HTTP/1.1 ") == answers


def test_connections_that_wait_make_room_for_clients_that_ask() -> None:
    with command("0.01", descriptors=DESCRIPTORS) as (process, port), ExitStack() as held:
        for _ in range(PLACES):
            held.enter_context(stalled(port))
        time.sleep(connections.PATIENCE_SECONDS)
        for _ in range(3):
            with connected(port) as client:
                client.sendall(HEALTH)
                assert answer(client).status == 200
        process.terminate()
        assert process.wait(20) == 0


def test_a_client_without_a_place_is_told_when_to_return() -> None:
    with command("0.01", descriptors=DESCRIPTORS) as (process, port), ExitStack() as held:
        # Their requests have begun, so they do not make room.
        busy = [held.enter_context(connected(port)) for _ in range(PLACES)]
        for client in busy:
            client.sendall(SPEECH % 9)
        for _ in range(2 * limits.REFUSED_CONNECTIONS):
            with connected(port) as client:
                client.sendall(HEALTH)
                refused = answer(client)
                assert (refused.status, refused.getheader("retry-after")) == (503, "5")
                assert json.loads(refused.read())["error"]["code"] == "overloaded"
                assert client.recv(1) == b""
        busy.pop().close()
        wait_until(lambda: health(port) == 200)
        held.close()
        wait_until(lambda: psutil.Process(process.pid).num_fds() < limits.FILES)


def health(port: int) -> int:
    with connected(port) as client:
        client.sendall(HEALTH)
        return answer(client).status


@pytest.mark.parametrize("workers", [1, 2])
def test_more_clients_at_once_than_descriptors_are_all_answered(workers: int) -> None:
    arguments = ("0.01", "--workers", str(workers))
    with command(*arguments, descriptors=DESCRIPTORS) as (process, port), ExitStack() as held:
        clients = [held.enter_context(connected(port)) for _ in range(3 * DESCRIPTORS)]
        for client in clients:
            client.sendall(HEALTH)
        statuses = [answer(client).status for client in clients]
        assert statuses.count(200) >= PLACES and set(statuses) <= {200, 503}
        held.close()
        assert health(port) == 200
        process.terminate()
        assert process.wait(30) == 0
        errors = process.communicate()[1]
    assert len(errors) < 10_000 and "Too many open files" not in errors and "Traceback" not in errors


def test_an_error_of_the_system_is_met_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: socket.socket) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket.socket, "accept", fails)
    with Listener(socket.create_server(("127.0.0.1", 0)), DESCRIPTORS, b"") as listener:
        # asyncio goes on at once after an error, until there is nobody to accept, and then waits.
        for _ in range(3):
            with pytest.raises(OSError, match="Too many open files") as caught:
                listener.accept()
            assert not isinstance(caught.value, BlockingIOError)
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_small_parts_of_answers_are_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []

    def transports(made: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def record(self: Any, transport: Any) -> None:
            made(self, transport)
            option = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            found.append(option)

        return record

    for protocol in (Connection, asyncio.StreamReaderProtocol):
        monkeypatch.setattr(protocol, "connection_made", transports(protocol.connection_made))
    with serving(FakeBundle()) as running:
        for port in (running.port, running.wyoming_port):
            before = len(found)
            with connected(port):
                wait_until(lambda before=before: len(found) > before)
    assert len(found) == 2 and all(found)
