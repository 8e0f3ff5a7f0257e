"""Serves the files of the comparison, and counts what each page asks for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_SCRIPT = "text/javascript"
_TYPES = {".html": "text/html", ".js": _SCRIPT, ".mjs": _SCRIPT, ".wasm": "application/wasm"}


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, roots: dict[str, Path], sent: Counter[str], *arguments: object) -> None:
        self.roots, self.sent = roots, sent
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answers with the whole file: every page may share memory between threads."""
        root, _, path = self.path.partition("?")[0].lstrip("/").partition("/")
        file = self.roots.get(root, Path()) / path
        content = file.read_bytes() if root in self.roots and file.is_file() else b""
        self.send_response(200 if content else 404)
        self.send_header("Content-Type", _TYPES.get(file.suffix, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.end_headers()
        self.wfile.write(content)
        if root != "page":
            self.sent[self.path] = len(content)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextmanager
def serving(roots: dict[str, Path], sent: Counter[str]) -> Iterator[str]:
    """Serves directories by the first part of the path, and yields the address of the page.

    Args:
        roots: directories by the first part of the path; ``page`` has the page's own scripts.
        sent: takes the bytes of each file that was asked for, but for the page's own scripts.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, roots, sent)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/page/index.html"
        finally:
            server.shutdown()
            thread.join()
