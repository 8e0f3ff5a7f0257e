"""Serves a page and a bundle for the web: ``python serve.py BUNDLE [PORT]``."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'"


class Handler(SimpleHTTPRequestHandler):
    """Serves this directory, and the bundle below ``/bundle/``."""

    extensions_map = {  # noqa: RUF012 (as in the base)
        **SimpleHTTPRequestHandler.extensions_map,
        **{".mjs": "text/javascript", ".wasm": "application/wasm"},
    }

    def __init__(self, *arguments: object, bundle: Path, **options: object) -> None:
        """Takes the bundle's directory."""
        self.bundle = bundle
        super().__init__(*arguments, directory=str(Path(__file__).parent), **options)  # type: ignore[arg-type]

    def translate_path(self, path: str) -> str:
        """Returns the file of a path."""
        place = path.partition("?")[0]
        if not place.startswith("/bundle/"):
            return super().translate_path(path)
        self.directory, page = str(self.bundle), self.directory
        try:
            return super().translate_path(place.removeprefix("/bundle"))
        finally:
            self.directory = page

    def end_headers(self) -> None:
        """Adds the headers of a page that trusts itself alone, which may use several threads."""
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        super().end_headers()


def main(bundle: str, port: str = "8000") -> None:
    """Serves until it is interrupted."""
    with ThreadingHTTPServer(("127.0.0.1", int(port)), partial(Handler, bundle=Path(bundle))) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
