"""A speech service with the shape of OpenAI's: POST /v1/audio/speech, on the standard library alone.

python examples/server.py BUNDLE --port 8080
curl localhost:8080/v1/audio/speech -o hola.wav \
    -d '{"model": "kokoro", "input": "¡Hola!", "voice": "ef_dora"}'

`response_format` is wav (the default here) or pcm (24 kHz, 16 bits, mono); audio is sent as it is produced.
There is no authentication: put a proxy before it.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
from contextlib import suppress
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from runtime_min import Bundle, InputError, KokoroError, Stream, VoiceName, encode, wav_header
from runtime_min.text import find_g2p

MOST_BYTES = 64 << 10
MOST_REQUESTS = 8
"""Spoken at a time; they share the bundle's threads."""
FORMATS = {"wav": "audio/wav", "pcm": "audio/pcm"}
g2p_for = lru_cache(maxsize=None)(lambda language: find_g2p(language)[1])


class RequestError(Exception):
    """A request that is refused, with the status of the answer."""

    def __init__(self, status: int, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.parameter = parameter


class Server(ThreadingHTTPServer):
    """Shares one bundle among the threads of its requests."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], bundle: Bundle) -> None:
        super().__init__(address, Handler)
        self.bundle = bundle
        self.free = threading.BoundedSemaphore(MOST_REQUESTS)


class Handler(BaseHTTPRequestHandler):
    """A request."""

    protocol_version = "HTTP/1.1"
    timeout = 30.0
    """Seconds after which a silent client is forgotten."""
    server: Server

    def do_POST(self) -> None:
        """Answers with speech, or with an error."""
        try:
            self._speak()
        except RequestError as error:
            self._refuse(error.status, str(error), error.parameter)
        except (KokoroError, ConnectionError, TimeoutError) as error:
            # Too late for another status; the last chunk is missing, so the client sees that there is more.
            self.log_error("broken off: %s", error)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers a request that has not reached `do_POST` with an error."""
        self._refuse(code, message or str(code))

    def _speak(self) -> None:
        if self.path != "/v1/audio/speech":
            raise RequestError(404, f"There is no {self.path}: POST to /v1/audio/speech.")
        asked = self._body()
        kind = field(asked, "response_format", str, "wav")
        if kind not in FORMATS:
            raise RequestError(
                400, f"expected one of {', '.join(FORMATS)}, found {kind!r}", "response_format"
            )
        if not self.server.free.acquire(blocking=False):
            raise RequestError(503, f"{MOST_REQUESTS} requests are being spoken: try again later.")
        try:
            with self._stream(asked) as stream:
                self._send(stream, kind)
        finally:
            self.server.free.release()

    def _send(self, stream: Stream, kind: str) -> None:
        try:
            first = next(stream)
        except KokoroError as error:
            raise RequestError(500, str(error)) from error
        self.send_response(200)
        self.send_header("Content-Type", FORMATS[kind])
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        header = wav_header(first.sample_rate, "pcm16", None) if kind == "wav" else b""
        self._send_chunk(header + encode(first.samples, "pcm16"))
        for piece in stream:
            self._send_chunk(encode(piece.samples, "pcm16"))
        self.wfile.write(b"0\r\n\r\n")

    def _stream(self, asked: dict[str, Any]) -> Stream:
        field(asked, "model", str)
        text, voice = field(asked, "input", str), field(asked, "voice", str)
        speed = field(asked, "speed", (int, float), 1.0)
        try:
            g2p = g2p_for(VoiceName(voice).language or "en-US")
            return self.server.bundle.stream(text, voice, speed, g2p=g2p, sentence_pause=0.2)
        except InputError as error:
            raise RequestError(400, str(error)) from error
        except KokoroError as error:
            raise RequestError(500, str(error)) from error

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise RequestError(411, "expected a Content-Length")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise RequestError(413, f"expected at most {MOST_BYTES} bytes, found {length}")
        try:
            asked = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise RequestError(400, f"expected JSON: {error}") from error
        if not isinstance(asked, dict):
            raise RequestError(400, "expected a JSON object")
        return asked

    def _send_chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _refuse(self, status: int, message: str, parameter: str | None = None) -> None:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error = {"message": message, "type": kind, "param": parameter, "code": None}
        content = json.dumps({"error": error}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        # A client that still sends its body would miss the answer if this end were closed at once.
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            for _ in range(MOST_BYTES // 1_024):
                if not self.rfile.read1(MOST_BYTES):
                    break


def field(asked: dict[str, Any], name: str, kind: Any, default: Any = None) -> Any:
    """Returns a field of a request.

    Raises:
        RequestError: it is of another type, or missing without a default.
    """
    value = asked.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RequestError(400, f"{name!r}: found {json.dumps(value)[:80]}", name)
    return value


def main() -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    with Bundle.load(options.bundle) as bundle, Server((options.host, options.port), bundle) as server:
        print(f"http://{options.host}:{server.server_port}/v1/audio/speech", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
