"""Clients of Wyoming that send nonsense, too much or nothing: each gets an error, and disturbs nobody."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterable
from contextlib import ExitStack
from ipaddress import ip_network
from typing import Any

import psutil
import pytest
from wyoming.event import Event

from kokoro_server import wyoming
from kokoro_server.app import Options
from kokoro_server.events import read_event
from kokoro_server.limits import REQUEST_BYTES, WYOMING_CONNECTIONS
from kokoro_server.requests import LONGEST_VOICE
from tests.kokoro_server.test_clients import wait_until
from tests.support.fakes.speech_server import FakeBundle, Running, serving
from tests.support.fakes.wyoming_client import DESCRIBE, answers, connected, error_of, events, logged, message

DEEP = b"[" * 50_000
REFUSED = {
    # What the line says of the message.
    "no type": ({}, "type to be a string, found nothing"),
    "type null": ({"type": None}, "type to be a string, found nothing"),
    "type number": ({"type": 5}, "type to be a string, found 5"),
    "type boolean": ({"type": True}, "type to be a string, found true"),
    "type list": ({"type": ["describe"]}, "type to be a string, found a list"),
    "type object": ({"type": {"type": "describe"}}, "type to be a string, found an object"),
    "data null": ({"type": "describe", "data": None}, "data to be an object, found nothing"),
    "data list": ({"type": "describe", "data": [["text", "Hi."]]}, "data to be an object, found a list"),
    "data string": ({"type": "describe", "data": "text"}, 'data to be an object, found "text"'),
    "data number": ({"type": "describe", "data": 0}, "data to be an object, found 0"),
    "payload for nothing": ({"payload_length": 3}, "type to be a string", b"abc"),
    # What comes after the line.
    "data not JSON": ({"type": "describe", "data_length": 3}, "data with a JSON object in UTF-8", b"abc"),
    "data list after": ({"type": "describe", "data_length": 2}, "JSON object, found a list", b"[]"),
    "data pairs": ({"type": "describe", "data_length": 9}, "found a list", b'[["a",1]]'),
    "data JSON null": ({"type": "describe", "data_length": 4}, "found nothing", b"null"),
    "data JSON number": ({"type": "describe", "data_length": 3}, "found 1.5", b"1.5"),
    "data two objects": ({"type": "describe", "data_length": 4}, "Extra data", b"{}{}"),
    "data deep": ({"type": "describe", "data_length": len(DEEP)}, "recursion", DEEP),
    "data not UTF-8": ({"type": "describe", "data_length": 9}, "invalid start byte", b'{"a":"\xff"}'),
    "data raw surrogate": ({"type": "describe", "data_length": 11}, "invalid cont", b'{"a":"\xed\xa0\x80"}'),
    "data UTF-16": ({"type": "describe", "data_length": 6}, "JSON object in UTF-8", "{}".encode("utf-16")),
    "data zeros": ({"type": "describe", "data_length": 4}, "JSON object in UTF-8", bytes(4)),
    "data long number": (
        {"type": "describe", "data_length": 5_006},
        "4300 digits",
        b'{"a":' + b"1" * 5_000 + b"}",
    ),
    # What the event says.
    "no text": ({"type": "synthesize"}, "text to be a string, found nothing"),
    "text null": ({"type": "synthesize", "data": {"text": None}}, "text to be a string, found nothing"),
    "text number": ({"type": "synthesize", "data": {"text": 7}}, "text to be a string, found 7"),
    "text list": ({"type": "synthesize", "data": {"text": ["Hi."]}}, "text to be a string, found a list"),
    "text object": ({"type": "synthesize", "data": {"text": {}}}, "text to be a string, found an object"),
    "text empty": ({"type": "synthesize", "data": {"text": ""}}, "at least one phoneme"),
    "text of NUL": ({"type": "synthesize", "data": {"text": "\0"}}, "can be spoken"),
    "text a lone surrogate": ({"type": "synthesize", "data": {"text": "\ud800"}}, r"'\ud800'"),
}
VOICES_REFUSED = {
    "voice string": ("af_heart", 'voice to be an object, found "af_heart"'),
    "voice list": ([{"name": "af_heart"}], "voice to be an object, found a list"),
    "voice false": (False, "voice to be an object, found false"),
    "name number": ({"name": 1}, "name to be a string, found 1"),
    "name list": ({"name": ["af_heart"]}, "name to be a string, found a list"),
    "name object": ({"name": {"name": "af_heart"}}, "name to be a string, found an object"),
    "name unknown": ({"name": "nobody"}, "no voice 'nobody'"),
    "name empty": ({"name": ""}, "voice"),
    "name a lone surrogate": ({"name": "\ud800"}, r"\ud800"),
    "name of NUL": ({"name": "af_heart\0"}, r"\x00"),
    "name long": ({"name": "a" * (LONGEST_VOICE + 1)}, "at most 1000 characters, found 1001"),
    "name an endless blend": ({"name": "af_heart+" * 100}, "voice"),
    "language number": ({"language": 34}, "language to be a string, found 34"),
    "language list": ({"language": ["es"]}, "language to be a string, found a list"),
    "language unknown": ({"language": "pt-BR"}, "speaks 'pt-BR': expected one of en-US, es"),
    "language empty": ({"language": ""}, "speaks '': expected one of"),
    "language a lone surrogate": ({"language": "\ud800"}, r"speaks '\ud800'"),
    "language long": ({"language": "x" * 5_000}, "expected one of en-US, es"),
}
UNREADABLE = {
    "empty line": (b"\n", "line with a JSON object"),
    "not JSON": (b"describe\n", "line with a JSON object"),
    "half JSON": (b'{"type": \n', "line with a JSON object"),
    "single quotes": (b"{'type': 'describe'}\n", "line with a JSON object"),
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", "line with a JSON object"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", "line with a JSON object"),
    "list": (b"[]\n", "JSON object, found a list"),
    "string": (b'"describe"\n', 'found "describe"'),
    "null": (b"null\n", "found nothing"),
    "two objects": (b'{"type": "describe"}{}\n', "Extra data"),
    "deep": (DEEP + b"\n", "recursion"),
    "not UTF-8": (b'{"type": "\xff"}\n', "invalid start byte"),
    "raw surrogate": (b'{"type": "\xed\xa0\x80"}\n', "invalid continuation byte"),
    "byte order mark": (b'\xef\xbb\xbf{"type": "describe"}\n', "BOM"),
    "NUL": (b'{"type": "describe"\0}\n', "delimiter"),
    "zeros": (bytes(100) + b"\n", "line with a JSON object"),
    "long number": (b'{"data_length": ' + b"1" * 5_000 + b"}\n", "4300 digits"),
    "long line": (b'{"type": "' + b"x" * REQUEST_BYTES + b'"}\n', "a line, found none in the first"),
    "endless line": (b"x" * 400_000, "a line, found none in the first"),
    "long type": (message({"type": "x" * 140_000}), "a line, found none in the first"),
    "data too long": (message({"type": "x"}, b'{"a":"%s"}' % (b"x" * REQUEST_BYTES)), "data_length to be"),
    "payload too long": (message({"type": "x"}, b"", bytes(REQUEST_BYTES + 1)), "payload_length to be"),
    "both too long": (message({"type": "x"}, b"{}" + b" " * 70_000, bytes(70_000)), "at most 131072 bytes"),
}
LENGTHS = (-1, 4_000_000_000, 1 << 70, 1.0, 1e300, True, False, "5", [5], {}, float("nan"), float("inf"))
UNREADABLE |= {
    f"{name} {length}": (message({"type": "describe", name: length}), f"Expected {name} to be a whole number")
    for name in ("data_length", "payload_length")
    for length in LENGTHS
}
CUT = {
    "line": (b'{"type": "describe"', "a whole line, found the end"),
    "after the line": (b'{"type": "x", "data_length": 5}\n', "5 bytes after the line, found the end after 0"),
    "data": (b'{"type": "x", "data_length": 5}\n{"a"', "5 bytes after the line, found the end after 4"),
    "payload": (b'{"type": "x", "payload_length": 5}\nabc', "found the end after 3"),
}


@pytest.fixture
def port(server: Running) -> int:
    return server.wyoming_port


def refused(port: int, sent: bytes, *rest: str) -> str:
    """Returns the one error that bytes get, in one line of the log too; the rest are the events after it."""
    with logged() as records:
        first, *others = answers(port, sent)
    assert [event.type for event in others] == list(rest)
    (record,) = records
    assert record.exc_info is None and error_of(first) in record.getMessage()
    assert "\n" not in record.getMessage() and len(record.getMessage()) < 2_000
    return error_of(first)


@pytest.mark.parametrize("name", REFUSED)
def test_a_message_that_is_refused_is_followed_by_others(port: int, name: str) -> None:
    header, expected, *rest = REFUSED[name]
    assert expected in refused(port, message(header) + b"".join(rest) + DESCRIBE, "info")


@pytest.mark.parametrize("name", VOICES_REFUSED)
def test_a_voice_that_is_refused_is_followed_by_others(port: int, name: str) -> None:
    voice, expected = VOICES_REFUSED[name]
    asked = message({"type": "synthesize", "data": {"text": "Hi.", "voice": voice}})
    assert expected in refused(port, asked + DESCRIBE, "info")


@pytest.mark.parametrize("name", UNREADABLE)
def test_nothing_is_read_after_a_message_without_a_known_end(port: int, name: str) -> None:
    sent, expected = UNREADABLE[name]
    assert expected in refused(port, sent + DESCRIBE)


@pytest.mark.parametrize("name", CUT)
def test_a_connection_that_ends_in_a_message_gets_an_error(port: int, name: str) -> None:
    sent, expected = CUT[name]
    assert expected in refused(port, sent)


def test_what_is_unknown_is_ignored_and_strange_text_is_spoken(port: int) -> None:
    ignored = [
        {"type": "\ud800"},
        {"type": ""},
        {"type": "transcribe", "data": {"text": 7}},
        {"type": "describe", "data": {"text": None}, "version": [], "more": {}},
        {"type": "describe", "data_length": None, "payload_length": 0},
    ]
    with logged() as records:
        found = answers(port, b"".join(map(message, ignored)))
        assert [event.type for event in found] == ["info", "info"]
        for text in ("a\ud800b", "a\0b", "\u202eab\n\r\t"):
            spoken = answers(port, message({"type": "synthesize", "data": {"text": text, "voice": None}}))
            assert [event.type for event in spoken][-1] == "audio-stop" and len(spoken) > 2
    assert records == []


def test_what_is_announced_beyond_the_limit_is_not_held(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    received = []
    feed_data = asyncio.StreamReader.feed_data

    def counted(reader: asyncio.StreamReader, data: bytes) -> None:
        received.append(len(data))
        feed_data(reader, data)

    monkeypatch.setattr(asyncio.StreamReader, "feed_data", counted)
    for line in (
        message({"type": "synthesize", "data_length": 4_000_000_000}),
        message({"type": "describe", "payload_length": 4_000_000_000}),
        b'{"type": "',
    ):
        received.clear()
        with connected(port) as connection, pytest.raises(ConnectionError):
            connection.sendall(line)
            for _ in range(50):
                connection.sendall(bytes(1 << 20))
        assert 0 < sum(received) < 3 << 20


@pytest.fixture
def patient(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Those of the test before would keep their places.
    wait_until(lambda: open_connections(port) == 0)
    monkeypatch.setattr(wyoming, "PATIENCE_SECONDS", 1_000)


def open_connections(port: int) -> int:
    """Returns how many connections the server in this process holds."""
    all_of_them = psutil.Process().net_connections("tcp")
    return sum(1 for each in all_of_them if each.laddr.port == port and each.status != psutil.CONN_LISTEN)


def kinds(found: Iterable[Event]) -> list[str]:
    return [event.type for event in found]


@pytest.mark.usefixtures("patient")
def test_connections_beyond_the_limit_are_refused_until_others_end(port: int) -> None:
    with ExitStack() as silent:
        for _ in range(wyoming.SERVED_CONNECTIONS):
            connection = silent.enter_context(connected(port))
            # The answer shows that it is served.
            connection.sendall(DESCRIBE)
            assert next(events(connection)).type == "info"
        assert "try again in" in refused(port, DESCRIBE)
        for _ in range(3 * wyoming.REFUSED_CONNECTIONS):
            silent.enter_context(connected(port))
        wait_until(lambda: open_connections(port) == WYOMING_CONNECTIONS)
    wait_until(lambda: open_connections(port) == 0)
    assert kinds(answers(port, DESCRIBE)) == ["info"]


def test_the_longest_silent_connection_makes_room(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wyoming, "PATIENCE_SECONDS", 0)
    with ExitStack() as silent:
        connections = [silent.enter_context(connected(port)) for _ in range(wyoming.SERVED_CONNECTIONS)]
        assert kinds(answers(port, DESCRIBE)) == ["info"]
        ended, *rest = connections
        assert ended.recv(1) == b""
        for connection in rest:
            connection.sendall(DESCRIBE)
            assert next(events(connection)).type == "info"


@pytest.mark.usefixtures("patient")
def test_a_message_has_a_time(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wyoming, "REQUEST_SECONDS", 0.5)
    with connected(port) as silent, connected(port) as slow, connected(port) as late, logged() as records:
        late.sendall(DESCRIBE + b'{"type": "x", "data_length": 100}\n')
        for byte in DESCRIBE[:10]:
            slow.sendall(bytes([byte]))
        for connection, before in ((silent, []), (slow, []), (late, ["info"])):
            *first, last = events(connection)
            assert kinds(first) == before and "within 0.5 s" in error_of(last)
    assert len(records) == 3


def test_a_client_that_does_not_read_is_dropped() -> None:
    with serving(FakeBundle(), Options(send_seconds=0.3)) as running, connected(running.wyoming_port) as deaf:
        with pytest.raises(ConnectionError):
            while True:
                deaf.sendall(DESCRIBE * 1_000)
        assert kinds(answers(running.wyoming_port, DESCRIBE)) == ["info"]


def test_connections_that_are_reset_leave_nothing(port: int) -> None:
    with logged() as records:
        long = message({"type": "synthesize", "data": {"text": "Hi. " * 99}})
        for sent in (b"", b"\n", DESCRIBE[:5], DESCRIBE, long):
            for _ in range(4):
                with connected(port) as connection:
                    connection.sendall(sent)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_until(lambda: open_connections(port) == 0)
    assert [record for record in records if record.exc_info or record.name == "asyncio"] == []


def test_only_the_networks_that_are_allowed_may_connect() -> None:
    for network, expected in (("127.0.0.0/8", ["info"]), ("192.168.1.0/24", ["error"]), ("::1", ["error"])):
        peers = [ip_network("10.0.0.1"), ip_network(network)]
        with serving(FakeBundle(), Options(wyoming_peers=peers)) as running:
            found = answers(running.wyoming_port, DESCRIBE)
            assert kinds(found) == expected
            if expected == ["error"]:
                assert "127.0.0.1 may not connect: see the option --wyoming-allow" in error_of(found[0])


def test_a_client_that_sends_much_at_once_lets_others_in_between(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[int] = []
    at_message = []

    async def noted(reader: asyncio.StreamReader, most: int) -> Event | None:
        at_message.append(len(turns))
        asyncio.get_running_loop().call_soon(turns.append, 1)
        return await read_event(reader, most)

    monkeypatch.setattr(wyoming, "read_event", noted)
    assert answers(port, message({"type": "ignored"}) * 1_000) == []
    assert len(at_message) == 1_001 and at_message[-1] >= 1_000


def test_small_writes_are_not_held_back(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    opened = asyncio.open_connection

    async def noted(*, sock: socket.socket, **options: Any) -> Any:
        found.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return await opened(sock=sock, **options)

    monkeypatch.setattr(asyncio, "open_connection", noted)
    answers(port, DESCRIBE)
    assert found and all(found)
