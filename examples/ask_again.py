"""Speaks a text by a server, and goes on where it was if the server fails in the middle of the answer.

python examples/ask_again.py http://127.0.0.1:8000 af_heart < text > speech.pcm

Equal requests have equal answers, so a client asks again and skips the bytes that it has.
"""

from __future__ import annotations

import argparse
import http.client
import json
import logging
import os
import sys
import time
import urllib.request
from collections.abc import Iterator
from urllib.error import HTTPError

AGAIN = (429, 500, 502, 503, 504)
"""A server that has no room now, or that ended before its first byte."""
FAILURES = (http.client.HTTPException, OSError)
"""A connection that breaks, or that nobody takes; urllib's errors are among them."""
_log = logging.getLogger("ask_again")


def stream(url: str, request: dict[str, object], tries: int = 6) -> Iterator[bytes]:
    """Yields the speech of a request to `/v1/audio/speech`, each byte once.

    Raises:
        HTTPError: the server refuses the request, or has failed in `tries` attempts without a new byte.
        OSError, HTTPException: the connection has.
    """
    had = failures = 0
    while True:
        try:
            for part in _answer(url, request, skip=had):
                had, failures = had + len(part), 0
                yield part
            return
        except FAILURES as error:
            failures += 1
            if failures == tries or (isinstance(error, HTTPError) and error.code not in AGAIN):
                raise
            _log.warning("asking again from byte %d: %s", had, error)
            time.sleep(_pause(error, failures))


def _answer(url: str, request: dict[str, object], skip: int) -> Iterator[bytes]:
    key = {"Authorization": f"Bearer {os.environ.get('KOKORO_API_KEY', 'none')}"}
    asked = urllib.request.Request(f"{url}/v1/audio/speech", json.dumps(request).encode(), key)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        while part := answer.read1(1 << 16):
            if new := part[skip:]:
                yield new
            skip = max(0, skip - len(part))


def _pause(error: Exception, failures: int) -> float:
    """Returns the seconds that the server asks for, else more after each failure."""
    wanted = error.headers.get("Retry-After") if isinstance(error, HTTPError) else None
    return float(wanted) if wanted else min(8.0, 0.25 * 2**failures)


def main() -> int:
    """Speaks standard input to standard output."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("voice")
    options = parser.parse_args()
    request: dict[str, object] = {
        "input": sys.stdin.read(),
        "voice": options.voice,
        "response_format": "pcm",
    }
    try:
        for part in stream(options.url, request):
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
    except HTTPError as error:
        print(f"error: {error}: {error.read().decode(errors='replace')}", file=sys.stderr)
        return 1
    except FAILURES as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
