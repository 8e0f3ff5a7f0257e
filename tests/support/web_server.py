"""A server of files that fails as networks do."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'"
_TYPES = {".mjs": "text/javascript", ".html": "text/html", ".css": "text/css", ".wasm": "application/wasm"}


class Faults:
    """What goes wrong, which a test changes, and what was asked for."""

    def __init__(self) -> None:
        """Nothing goes wrong."""
        self.drop_after = 0
        """Bytes of an answer after which the connection breaks, if it is not 0."""
        self.drops = 0
        """Answers that break; -1 for all."""
        self.unavailable = 0
        """Requests that are answered with status 503."""
        self.ranges = True
        self.down = False
        self.absent: tuple[str, ...] = ()
        """Beginnings of paths that are not found."""
        self.isolated = False
        """Send the headers that let a page share memory between threads."""
        self.requests: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, roots: dict[str, Path], faults: Faults, *arguments: object) -> None:
        self.roots, self.faults = roots, faults
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.faults.requests.append(path)
        if self.faults.down:
            self.close_connection = True
            return
        if self.faults.unavailable:
            self.faults.unavailable -= 1
            self._refuse(503)
            return
        file = self._file(path)
        if file is None or not file.is_file() or path.startswith(self.faults.absent):
            self._refuse(404)
            return
        content = file.read_bytes()
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")) if self.faults.ranges else None
        content = content[int(asked[1]) :] if asked else content
        self.send_response(206 if asked else 200)
        self.send_header("Content-Type", _TYPES.get(file.suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        if self.faults.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.end_headers()
        if self.faults.drops and len(content) > self.faults.drop_after:
            self.faults.drops -= 1
            self.wfile.write(content[: self.faults.drop_after])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(content)

    def _file(self, path: str) -> Path | None:
        for prefix, root in self.roots.items():
            if path.startswith(prefix):
                return root / (path.removeprefix(prefix) or "index.html")
        return None

    def _refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextmanager
def serving(roots: dict[str, Path]) -> Iterator[tuple[str, Faults]]:
    """Serves directories by the beginning of the path, and yields the address and the faults."""
    faults = Faults()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, roots, faults)) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", faults
        finally:
            server.shutdown()
            thread.join()
