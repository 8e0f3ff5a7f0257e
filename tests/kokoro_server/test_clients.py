"""Clients that leave, do not read or send too much, and those of Kokoro-FastAPI and of browsers."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kokoro_server import app, connections
from kokoro_server.app import Options
from runtime_min import Audio, encode
from tests.support.fakes.speech_server import VOICES, FakeBundle, Running, serving

SPEECH = "/v1/audio/speech"
CAPTIONS = "/dev/captioned_speech"


@contextmanager
def answered(
    port: int, path: str = SPEECH, method: str = "POST", headers: dict[str, str] | None = None, **fields: Any
) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, json.dumps(fields), headers or {})
        yield connection.getresponse()
    finally:
        connection.close()


def request(text: str) -> bytes:
    """Returns a request for PCM, for clients that are only a socket."""
    body = json.dumps({"input": text, "response_format": "pcm"})
    return f"POST {SPEECH} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def figure(port: int, name: str) -> float:
    with answered(port, "/metrics", "GET") as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def wait_until(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_captions_come_in_lines_with_the_times_of_their_words(server: Running) -> None:
    text = "One sentence, and another one. " * 4
    with answered(server.port, CAPTIONS, input=text, response_format="pcm") as answer:
        assert answer.getheader("content-type") == "application/json"
        lines = [json.loads(line) for line in answer.read().splitlines()]
    whole = Audio.join(FakeBundle().pieces(text, "af_heart", 1.0))
    assert len(lines) > 1 and {line["audio_format"] for line in lines} == {"audio/pcm"}
    audio = b"".join(base64.b64decode(line["audio"]) for line in lines)
    assert audio == encode(whole.samples, "pcm16")
    words = [tuple(each.values()) for line in lines for each in line["timestamps"]]
    assert words == list(whole.words)
    with answered(server.port, CAPTIONS, input=text, response_format="pcm", stream=False) as answer:
        one = json.loads(answer.read())
    assert base64.b64decode(one["audio"]) == audio
    assert list(one["timestamps"][0]) == ["word", "start_time", "end_time"]
    assert one["timestamps"] == [each for line in lines for each in line["timestamps"]]
    with answered(server.port, CAPTIONS, input=text, return_timestamps=False, stream=False) as answer:
        assert json.loads(answer.read())["timestamps"] is None
    with answered(server.port, CAPTIONS, input=text, voice="nobody", stream=False) as answer:
        assert answer.status == 400


def test_voices_are_listed_for_new_and_old_clients(server: Running) -> None:
    with answered(server.port, "/v1/audio/voices", "GET") as answer:
        voices = json.loads(answer.read())["voices"]
    assert [voice["id"] for voice in voices] == list(VOICES)
    assert voices[3] == {"id": "ef_dora", "name": "ef_dora", "language": "es", "usable": False}
    assert voices[0]["usable"]
    with answered(server.port, "/v1/audio/voices?legacy=true", "GET") as answer:
        assert json.loads(answer.read()) == {"voices": list(VOICES)}


def test_the_volume_and_the_id_of_a_voice_are_used(server: Running) -> None:
    fields = {"voice": {"id": "af_heart"}, "volume_multiplier": 0.5}
    with answered(server.port, input="Hi.", response_format="pcm", **fields) as answer:
        (piece,) = FakeBundle().pieces("Hi.", "af_heart", 1.0)
        assert answer.read() == encode(0.5 * piece.samples, "pcm16")


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"{", "not JSON"), (b"[]", "JSON object"), (b"[" * 100_000, "not JSON"), (b"\xff", "not JSON")],
    ids=["cut", "list", "deep", "bytes"],
)
def test_what_is_no_request_is_refused(server: Running, body: bytes, message: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", SPEECH, body)
    answer = connection.getresponse()
    assert answer.status == 400 and message in json.loads(answer.read())["error"]["message"]
    connection.close()


def test_lone_surrogates_do_no_harm(server: Running) -> None:
    for fields in ({"voice": "\ud800"}, {"model": "\ud800"}, {"speed": "\ud800"}):
        with answered(server.port, **{"input": "Hi.", **fields}) as answer:
            assert answer.status in (400, 404) and json.loads(answer.read())["error"]["message"]


def test_other_paths_and_methods_have_errors_of_the_same_shape(server: Running) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("GET", SPEECH, 405)):
        with answered(server.port, path, method) as answer:
            error = json.loads(answer.read())["error"]
            assert (answer.status, error["type"]) == (status, "invalid_request_error")


def test_a_client_that_leaves_stops_its_speech() -> None:
    with serving(FakeBundle(seconds=0.05)) as running:
        text = "One sentence, and another one. " * 200
        with answered(running.port, input=text, response_format="pcm") as answer:
            assert len(answer.read(1_000)) == 1_000
        wait_until(lambda: figure(running.port, 'kokoro_requests_total{status="disconnected"}') >= 1)
        computed = len(running.bundle.computed)
        time.sleep(0.2)
        assert len(running.bundle.computed) <= computed + 1 < 100


def test_a_client_that_leaves_while_it_waits_frees_its_place() -> None:
    with serving(FakeBundle(seconds=0.3), Options(slots=1, longest_queue=2)) as running:
        first = socket.create_connection(("127.0.0.1", running.port))
        second = socket.create_connection(("127.0.0.1", running.port))
        for client in (first, second):
            client.sendall(request("Hi."))
            wait_until(lambda: figure(running.port, "kokoro_waiting_pieces") >= 1)
        wait_until(lambda: figure(running.port, "kokoro_waiting_pieces") == 2)
        second.close()
        wait_until(lambda: figure(running.port, "kokoro_waiting_pieces") <= 1)
        with answered(running.port, input="Ho.") as answer:
            assert answer.status == 200
        first.close()


def test_a_client_that_does_not_read_is_dropped_and_delays_nobody() -> None:
    with serving(FakeBundle(), Options(slots=1, send_seconds=0.3)) as running:
        text = "One sentence, and another one. " * 3_000
        silent = socket.socket()
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        silent.connect(("127.0.0.1", running.port))
        silent.sendall(request(text))
        broken = figure(running.port, 'kokoro_requests_total{status="broken off"}')
        with answered(running.port, input="Hi.") as answer:
            assert answer.status == 200 and answer.read()
        wait_until(lambda: figure(running.port, 'kokoro_requests_total{status="broken off"}') > broken)
        # What the system's buffers took, and a piece more.
        assert len(running.bundle.computed) < 100
        content = bytearray()
        while part := silent.recv(1 << 20):
            content += part
        # The end of a whole answer is missing.
        assert content and not content.endswith(b"0\r\n\r\n")
        silent.close()


def test_another_server_ends_the_connection_of_an_answer_that_is_broken_off() -> None:
    received = [{"type": "http.request", "body": b'{"input": "Hi.", "response_format": "pcm"}'}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not received:
            await asyncio.Event().wait()
        return received.pop()

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    scope = {"type": "http", "method": "POST", "path": "/v1/audio/speech", "headers": [], "query_string": b""}
    application = app.create_app(FakeBundle, Options(send_seconds=0.1))  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        asyncio.run(application(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


def test_a_client_that_leaves_without_reading_stops_its_speech() -> None:
    with serving(FakeBundle(), Options(slots=1)) as running:
        silent = socket.socket()
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        silent.connect(("127.0.0.1", running.port))
        silent.sendall(request("One sentence, and another one. " * 3_000))
        wait_until(lambda: len(running.bundle.computed) > 1 and is_still(running.bundle.computed))
        computed = len(running.bundle.computed)
        gone = figure(running.port, 'kokoro_requests_total{status="disconnected"}')
        silent.close()
        wait_until(lambda: figure(running.port, 'kokoro_requests_total{status="disconnected"}') > gone)
        # uvicorn's end would wait for an answer that goes on.
        wait_until(lambda: is_still(running.bundle.computed))
        assert len(running.bundle.computed) <= computed + 1


def is_still(computed: list[str]) -> bool:
    before = len(computed)
    time.sleep(0.2)
    return len(computed) == before


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    with serving(FakeBundle()) as running:
        with socket.create_connection(("127.0.0.1", running.port)) as slow:
            slow.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{" % SPEECH.encode())
            assert slow.recv(1_000).startswith(b"HTTP/1.1 408 ")
        with socket.create_connection(("127.0.0.1", running.port)) as silent:
            silent.sendall(b"POST / HT")
            silent.settimeout(10)
            assert silent.recv(1_000) == b""


def test_a_web_page_may_speak_if_its_site_is_named() -> None:
    options = Options(cors_origins=["https://good.example"], api_key="secret")
    with serving(FakeBundle(), options) as running:
        asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        for site, allowed in (("https://good.example", 200), ("https://bad.example", 400)):
            with answered(running.port, SPEECH, "OPTIONS", {"Origin": site, **asking}) as answer:
                assert answer.status == allowed
                shown = answer.getheader("access-control-allow-origin")
                assert shown == (site if allowed == 200 else None)
        with answered(running.port, SPEECH, headers={"Origin": "https://good.example"}) as answer:
            assert answer.status == 401
