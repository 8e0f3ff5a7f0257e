"""Serves the files of the comparison, and counts what each page asks for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_TYPES = {".mjs": "text/javascript", ".wasm": "application/wasm"}
_PAGE = b'<!doctype html><script type="module" src="/page/engines.mjs"></script>'


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, roots: dict[str, Path], sent: Counter[str], *arguments: object) -> None:
        self.roots, self.sent = roots, sent
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answers with the whole file: every page may share memory between threads."""
        root, _, path = self.path.partition("?")[0].lstrip("/").partition("/")
        file = self.roots[root] / path if root in self.roots else Path()
        content = file.read_bytes() if file.is_file() else _PAGE if not root else None
        self.send_response(404 if content is None else 200)
        self.send_header(
            "Content-Type", _TYPES.get(file.suffix, "text/html" if not root else "application/octet-stream")
        )
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.end_headers()
        self.wfile.write(content or b"")
        if root in self.roots and root != "page":
            self.sent[self.path] = len(content or b"")

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextmanager
def serving(roots: dict[str, Path], sent: Counter[str]) -> Iterator[str]:
    """Serves directories by the first part of the path, and yields the address.

    Args:
        roots: directories by the first part of the path; ``page`` has the page's own scripts.
        sent: takes the bytes of each file that was asked for, but for the page's own scripts.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, roots, sent)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
