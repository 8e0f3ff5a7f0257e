"""ElevenLabs' `stream-input`: text in pieces, audio before its end, and refusals that clients can read."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import create_connection, create_server
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from kokoro_server import stream_input
from kokoro_server.app import Options
from kokoro_server.stream_input import align_characters
from runtime_min import Timing
from tests.support.fakes.speech_server import FakeBundle, Running, serving

TEXT = ["abc, ", "abc abc", " def. De", "f abc gab. ", "Hah."]


def path(voice: str = "af_heart", output_format: str = "pcm_24000", **query: str) -> str:
    fields = "&".join(f"{name}={value}" for name, value in {"output_format": output_format, **query}.items())
    return f"/v1/text-to-speech/{voice}/stream-input?{fields}"


@contextmanager
def connected(server: Running, where: str | None = None, **options: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{server.port}{where or path()}", **options) as socket:
        yield socket


def say(socket: ClientConnection, *messages: object) -> None:
    # A refusal may come before.
    with suppress(ConnectionClosed):
        for message in messages:
            socket.send(json.dumps(message))


def received(socket: ClientConnection) -> tuple[bytes, dict[str, Any], int]:
    """Returns the audio, the last message and the code at the end."""
    audio, last = b"", {}
    try:
        while True:
            last = json.loads(socket.recv(20))
            audio += base64.b64decode(last.get("audio") or "")
    except ConnectionClosed as end:
        assert end.rcvd is not None
        return audio, last, end.rcvd.code


def spoken(server: Running, pieces: list[str]) -> bytes:
    with connected(server) as socket:
        say(socket, {"text": " "}, *({"text": piece} for piece in pieces), {"text": ""})
        audio, last, code = received(socket)
    assert (last, code) == ({"audio": None, "isFinal": True}, 1000)
    return audio


def test_a_text_is_spoken_alike_wherever_it_is_cut(server: Running) -> None:
    whole = spoken(server, ["".join(TEXT)])
    assert len(whole) > 24_000 and spoken(server, TEXT) == spoken(server, list("".join(TEXT))) == whole


def test_a_sentence_comes_before_the_text_ends_and_flushing_gives_the_rest(server: Running) -> None:
    with connected(server) as socket:
        say(socket, {"text": "abc abc. Def "})
        assert json.loads(socket.recv(20))["audio"]
        say(socket, {"text": "abc ", "flush": True})
        assert json.loads(socket.recv(20))["audio"]
        say(socket, {"text": ""})
        assert received(socket)[1:] == ({"audio": None, "isFinal": True}, 1000)


@pytest.mark.parametrize("messages", [[{"text": ""}], [{"text": " "}, {"text": ""}]])
def test_a_connection_in_vain_ends_in_good_order(server: Running, messages: list[object]) -> None:
    with connected(server) as socket:
        say(socket, *messages)
        assert received(socket) == (b"", {"audio": None, "isFinal": True}, 1000)


@pytest.mark.parametrize(
    ("where", "message", "error"),
    [
        (path("nobody"), {"text": "a"}, "nobody"),
        (path(output_format="mp3_1"), {"text": "a"}, "mp3_44100_128"),
        (path(output_format="ulaw_16000"), {"text": "a"}, "ulaw_8000"),
        (path(), {"text": 7}, "text"),
        (path(), {"text": "a", "flush": 1}, "flush"),
        (path(), {"text": "a", "voice_settings": {"speed": 9}}, "9"),
        (path(), [], "JSON object"),
        (path(), "x" * 10, "JSON object"),
    ],
)
def test_what_is_wrong_is_told_and_closes_the_connection(
    server: Running, where: str, message: object, error: str
) -> None:
    with connected(server, where) as socket:
        say(socket, message)
        audio, last, code = received(socket)
    assert (audio, code, last["code"]) == (b"", 1008, 1008) and error in last["message"]


@pytest.mark.parametrize("sent", ["no JSON", "[" * 50_000, b"\xff", '{"text": "\\ud800"}'])
def test_hostile_messages_are_refused_or_spoken(server: Running, sent: str | bytes) -> None:
    with connected(server) as socket:
        socket.send(sent)
        if not isinstance(sent, bytes) and "text" in sent:
            say(socket, {"text": ""})
        assert received(socket)[2] in (1000, 1008)


def test_a_message_that_is_too_long_closes_the_connection(server: Running) -> None:
    with connected(server) as socket:
        socket.send("x" * (129 << 10))
        assert received(socket)[2] == 1009


def test_a_client_that_sends_nothing_is_told(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_input, "REQUEST_SECONDS", 0.05)
    with connected(server) as socket:
        _, last, code = received(socket)
    assert code == 1008 and "0.05 s" in last["message"]


def test_a_client_that_leaves_has_no_more_computed(server: Running) -> None:
    bundle = server.bundle
    bundle.gate.clear()
    with connected(server) as socket:
        say(socket, {"text": "abc abc abc. " * 200})
    computed = len(bundle.computed)
    bundle.gate.set()
    assert spoken(server, ["a."]) and len(bundle.computed) < computed + 20


def test_the_key_comes_in_a_header_or_the_first_message() -> None:
    key = "schlüssel"
    with serving(FakeBundle(), Options(api_key=key)) as server:
        for headers, first, right in (
            ({"xi-api-key": key}, {}, True),
            ({"Authorization": f"Bearer {key}"}, {}, True),
            ({}, {"xi_api_key": key}, True),
            ({"xi-api-key": "schlussel"}, {}, False),
            ({"Authorization": key}, {"xi_api_key": "\ud800"}, False),
            ({}, {}, False),
        ):
            with connected(server, additional_headers=headers) as socket:
                say(socket, {"text": "abc. ", **first}, {"text": ""})
                audio, last, code = received(socket)
            assert (code, bool(audio)) == ((1000, True) if right else (1008, False)), last


def test_scripts_of_other_sites_may_not_connect() -> None:
    with serving(FakeBundle(), Options(cors_origins=("https://app.test",))) as server:
        own = f"http://127.0.0.1:{server.port}"
        for origin, code in (("https://app.test", 1000), (own, 1000), ("https://evil.test", 1008)):
            with connected(server, origin=origin) as socket:
                say(socket, {"text": ""})
                assert received(socket)[2] == code


@contextmanager
def behind_tls(port: int, directory: Path) -> Iterator[tuple[int, Path]]:
    """Passes connections on to a port, as a proxy does; yields its own port and its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = directory / "localhost.pem"
    file.write_bytes(private + certificate.public_bytes(pem))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)

    def pass_on(source: Any, sink: Any) -> None:
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        sink.close()

    def accept() -> None:
        with (
            create_server(("127.0.0.1", 0)) as plain,
            context.wrap_socket(plain, server_side=True) as listener,
        ):
            ports.append(listener.getsockname()[1])
            ready.set()
            client, _ = listener.accept()
            upstream = create_connection(("127.0.0.1", port))
            back = threading.Thread(target=pass_on, args=(upstream, client))
            back.start()
            pass_on(client, upstream)
            back.join()

    ports: list[int] = []
    ready = threading.Event()
    thread = threading.Thread(target=accept)
    thread.start()
    assert ready.wait(20)
    yield ports[0], file
    thread.join()


def test_elevenlabs_client_works_unchanged(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elevenlabs = pytest.importorskip("elevenlabs.client")
    expected = spoken(server, TEXT)
    with behind_tls(server.port, tmp_path) as (port, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        client = elevenlabs.ElevenLabs(api_key="none", base_url=f"https://localhost:{port}")
        chunks = client.text_to_speech.convert_realtime(
            "af_heart", text=iter(TEXT), model_id="eleven_flash_v2_5", output_format="pcm_24000"
        )
        assert b"".join(chunks) == expected


def test_characters_have_times_from_the_start_of_their_piece() -> None:
    words = [Timing("ab", 2.0, 2.2), Timing("c", 2.5, 2.6)]
    assert align_characters(words, 1.5) == {
        "chars": ["a", "b", " ", "c"],
        "charStartTimesMs": [500, 600, 700, 1000],
        "charDurationsMs": [100, 100, 300, 100],
    }
    assert align_characters([], 0.0) is None


def test_every_piece_says_when_its_characters_are_spoken(server: Running) -> None:
    with connected(server) as socket:
        say(socket, {"text": "abc abc. Def "}, {"text": "ab. "}, {"text": ""})
        said, seconds, times = "", 0.0, [0.0]
        while not (message := json.loads(socket.recv(20))).get("isFinal"):
            if alignment := message["alignment"]:
                said += "".join(alignment["chars"]) + " "
                times += [1000 * seconds + start for start in alignment["charStartTimesMs"]]
                assert len(alignment["chars"]) == len(alignment["charDurationsMs"])
            seconds += len(base64.b64decode(message["audio"])) / 48_000
    assert said.split() == ["abc", "abc.", "Def", "ab."]
    assert times == sorted(times) and times[-1] < 1000 * seconds
