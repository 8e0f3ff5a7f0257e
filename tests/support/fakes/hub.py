"""A server that answers the Hugging Face hub's client as the hub does."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from exporter.model.hub import REPOSITORY, REVISION

_FILES = f"/{REPOSITORY}/resolve/{REVISION}/"
_STORE = "/store/"


@dataclass
class Hub:
    """The files of the server, its misbehaviour, and the requests that it got."""

    files: dict[str, bytes]
    large: frozenset[str]
    """Files whose answer is a redirection to a store, as the hub's is for files of Git LFS."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by name, as in the pointers of Git LFS."""
    delivered: dict[str, bytes] = field(default_factory=dict)
    """Bytes that are sent in place of a file's own."""
    break_off_once: set[str] = field(default_factory=set)
    """Files whose first transfer ends in the middle."""
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and range of each request."""
    url: str = ""

    def __post_init__(self) -> None:
        self.digests = {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serves on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(send=False)

        def do_GET(self) -> None:
            self._answer(send=True)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def _answer(self, *, send: bool) -> None:
            path = unquote(self.path)
            hub.requests.append((self.command, path, self.headers.get("Range")))
            if path == "/":
                return self._reply(200, b"", {}, send)
            if path.startswith(_STORE):
                return self._content(path.removeprefix(_STORE), {}, send)
            name = path.removeprefix(_FILES)
            if name == path or name not in hub.files:
                return self._reply(404, b"Entry not found", {"X-Error-Code": "EntryNotFound"}, send)
            headers = {"X-Repo-Commit": REVISION, "ETag": f'"{hub.digests[name][:40]}"'}
            if name not in hub.large:
                return self._content(name, headers, send)
            linked = {"X-Linked-Size": str(len(hub.files[name])), "X-Linked-ETag": f'"{hub.digests[name]}"'}
            # Another host than the hub's: the client goes there without its token.
            store = {"Location": f"{hub.url.replace('127.0.0.1', 'localhost')}{_STORE}{name}"}
            return self._reply(302, b"", headers | linked | store, send)

        def _content(self, name: str, headers: dict[str, str], send: bool) -> None:
            content = hub.delivered.get(name, hub.files[name])
            start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
            size = len(content)
            if start:
                headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
            broken = send and name in hub.break_off_once
            if broken:
                hub.break_off_once.remove(name)
            self._reply(206 if start else 200, content[start:], headers, send, half=broken)

        def _reply(
            self, status: int, content: bytes, headers: dict[str, str], send: bool, half: bool = False
        ) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(content))}).items():
                self.send_header(name, value)
            self.end_headers()
            if send:
                self.wfile.write(content[: len(content) // 2] if half else content)
            if half:
                self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield hub
        server.shutdown()
