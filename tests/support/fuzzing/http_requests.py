"""Requests over HTTP that no client should send, each with the statuses that may answer it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import NamedTuple

SPEECH = b"/v1/audio/speech"
REFUSED = frozenset({400, 404, 405, 408, 413, 422})
ANY = REFUSED | {200}
OR_NONE = frozenset({0})
"""The server waits for the rest, or its answer is lost because it does not read the rest."""


class Hostile(NamedTuple):
    """A request as bytes, and the statuses that may answer it: an empty set for all but failures."""

    kind: str
    content: bytes
    statuses: frozenset[int] = REFUSED


def post(body: bytes, *headers: bytes, length: bytes | None = None, path: bytes = SPEECH) -> bytes:
    lines = [b"POST %s HTTP/1.1" % path, b"Host: a", *headers]
    lines.append(b"Content-Length: %s" % (b"%d" % len(body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def fields(**changes: object) -> bytes:
    return json.dumps({"input": "Hi.", "response_format": "pcm", **changes}).encode()


def chunked(body: bytes, *headers: bytes) -> bytes:
    lines = (b"POST %s HTTP/1.1" % SPEECH, b"Host: a", b"Transfer-Encoding: chunked", *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def cases() -> Iterator[Hostile]:
    """Yields every request of the table."""
    yield from _smuggled()
    yield from _heads()
    yield from _bodies()
    yield from _values()


def _smuggled() -> Iterator[Hostile]:
    good = fields()
    both = post(good, b"Transfer-Encoding: chunked")
    for content in (
        both,
        post(good, b"Content-Length: 5"),
        post(good, b"Content-Length: %d" % len(good)),
        *(
            post(good, length=text)
            for text in (b"-1", b"+5", b"5 5", b"0x10", b"5,6", b"", b"1e3", b"9" * 30)
        ),
        *(
            chunked(b"0\r\n\r\n", b"Transfer-Encoding: " + text)
            for text in (b"identity", b"gzip", b"chunked")
        ),
        chunked(b"0\r\n\r\n").replace(b"chunked", b"xchunked"),
        chunked(b"0\r\n\r\n").replace(b"Encoding:", b"Encoding :"),
        post(good).replace(b"Host: a", b"Host: a\r\n folded: b"),
        post(good).replace(b"Host: a", b"Host: a\nX: b"),
        post(good).replace(b"\r\n", b"\n"),
    ):
        yield Hostile("smuggling", content, ANY | OR_NONE)
    for size in (b"g", b"-1", b"0x5", b"ffffffffffffffffff", b"5;" + b"e" * 20_000, b"", b" 5", b"1\x00"):
        yield Hostile("chunks", chunked(size + b"\r\nhello\r\n0\r\n\r\n"), REFUSED | OR_NONE)
    yield Hostile("chunks", chunked(b"5\r\nhelloX\r\n0\r\n\r\n"), REFUSED)
    yield Hostile("chunks", chunked(b"0\r\nTrailer: x\r\n\r\n"), REFUSED)
    yield Hostile("chunks", chunked(b"%x\r\n%s\r\n0\r\n\r\n" % (len(good), good)), frozenset({200}))
    yield Hostile(
        "chunks", chunked(b"".join(b"1\r\n%c\r\n" % byte for byte in good) + b"0\r\n\r\n"), frozenset({200})
    )
    yield Hostile("pipelined", 20 * b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", frozenset({200}))
    yield Hostile("pipelined", post(good) + b"\0nonsense\r\n\r\n", frozenset({200}))
    yield Hostile("pipelined", post(b"{}", path=b"/nothing") + post(good), frozenset({404}))
    yield Hostile("pipelined", post(good, length=b"1000000") + b"x" * 50_000 + b"\r\n" * 50, frozenset({413}))


def _heads() -> Iterator[Hostile]:
    for method in (
        b"HEAD",
        b"OPTIONS",
        b"CONNECT",
        b"TRACE",
        b"DELETE",
        b"PATCH",
        b"BREW",
        b"get",
        b"G" * 500,
    ):
        yield Hostile("methods", b"%s %s HTTP/1.1\r\nHost: a\r\n\r\n" % (method, SPEECH), ANY)
        yield Hostile("methods", b"%s /health HTTP/1.1\r\nHost: a\r\n\r\n" % method, ANY)
    yield Hostile("methods", b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n")
    for start in (
        b"GET /health HTTP/2.0",
        b"GET /health HTTP/0.9",
        b"GET /health HTTP/1.",
        b"GET /health",
        b"GET  /health HTTP/1.1",
        b"GET http://b/health HTTP/1.1",
        b"GET \xff HTTP/1.1",
        b"GET /\x00 HTTP/1.1",
        b"GET /%00 HTTP/1.1",
        b"GET /%ED%A0%80 HTTP/1.1",
        b"GET /v1/models/%ff%fe HTTP/1.1",
        b"GET /v1/models/..%2f..%2fetc HTTP/1.1",
        b"GET /v1/models/" + b"a" * 10_000 + b" HTTP/1.1",
        b"GET /?" + b"a=b&" * 3_000 + b" HTTP/1.1",
        b"\x16\x03\x01\x02",
        b"PRI * HTTP/2.0",
        b"GET * HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1",
    ):
        yield Hostile("first lines", start + b"\r\nHost: a\r\n\r\n", ANY | OR_NONE)
    for header in (
        b"X: " + b"a" * 100_000,
        b"X" * 100_000 + b": a",
        b"\r\n".join(b"X%d: a" % n for n in range(5_000)),
        b": a",
        b"X",
        b"X\x00: a",
        b"X: \x00",
        b"X: \xff\xfe",
        b"Host: b",
        b"Expect: 100-continue",
        b"Expect: nonsense",
        b"Range: bytes=0-1",
        b"Range: bytes=99999999999999999999-",
        b"Content-Encoding: gzip",
        b"Connection: close, x",
        b"Connection: upgrade\r\nUpgrade: websocket",
        b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AA",
        b"Content-Type: text/xml; charset=utf-7",
        b"Content-Type: \xff",
        b"Authorization: Bearer \xff\x00",
        b"Cookie: " + b"a=b; " * 2_000,
        b"Accept-Encoding: " + b"gzip, " * 1_000,
        b"Origin: null",
        b"TE: trailers",
    ):
        yield Hostile("headers", post(fields(), header), ANY | OR_NONE)
    yield Hostile("headers", b"GET /health HTTP/1.1\r\n\r\n", ANY)
    yield Hostile("headers", b"GET /health HTTP/1.0\r\n\r\n", frozenset({200}))


def _bodies() -> Iterator[Hostile]:
    deep = b"[" * 60_000 + b"]" * 60_000
    for body in (
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"a"',
        deep,
        b'{"input":' + deep + b"}",
        b'{"a":' * 20_000,
        b"NaN",
        b"\xff\xfe",
        b"\x00" * 1_000,
        b"1" * 100_000,
        b"1e999",
        b"-",
        b"{}",
        b'{"input": "a", "input": 5}',
        b"\xef\xbb\xbf{}",
        '{"input": "é"}'.encode("utf-16"),
        '{"input": "é"}'.encode("utf-32"),
        b'{"input": "\xff"}',
        b"'a'",
        b"<a/>",
        b'{"input": "a" "b"}',
        b'{"input": "a",}',
        b"input=a",
        b'{"input": "\x01"}',
        bytes(range(256)) * 100,
    ):
        yield Hostile("bodies", post(body), ANY if body[:1] in b"\xff\xfe{" else REFUSED)
    yield Hostile("bodies", post(b"x" * 200_000), frozenset({413}))
    yield Hostile("bodies", post(b"", length=b"100000000000"), frozenset({413}))
    yield Hostile("bodies", post(fields(), length=b"5"), REFUSED)


def _values() -> Iterator[Hostile]:
    odd = (
        None,
        True,
        0,
        -1,
        1e308,
        10**300,
        "",
        "\0",
        "\ud800",
        "a" * 1_000,
        "\u202e",
        "../..",
        [],
        [[]],
        {},
        {"id": None},
        {"id": {"id": "a"}},
        float("nan"),
        float("inf"),
        -0.0,
        5e-324,
        "0",
        "mp3\r\nX: y",
    )
    names = (
        "input",
        "voice",
        "model",
        "response_format",
        "speed",
        "stream_format",
        "lang_code",
        "volume_multiplier",
        "stream",
        "return_timestamps",
        "ssml",
        "skip_emoji",
        "allow_voice_tags",
        "unknown",
    )
    for name in names:
        for value in odd:
            for path in (SPEECH, b"/dev/captioned_speech"):
                yield Hostile("values", post(fields(**{name: value}), path=path), ANY)


def damaged(chance: random.Random) -> Hostile:
    """Returns a request of the table with changed, doubled or missing bytes."""
    _, content, _ = chance.choice(_TABLE)
    data = bytearray(content[:20_000])
    for _ in range(chance.randrange(1, 6)):
        place = chance.randrange(len(data) + 1)
        size = chance.choice((1, 1, 2, 8, 100))
        change = chance.randrange(4)
        if change == 0:
            data[place : place + size] = chance.randbytes(size)
        elif change == 1:
            data[place:place] = data[place : place + size]
        elif change == 2:
            del data[place : place + size]
        else:
            data[place:place] = chance.choice(
                (b"\r\n", b"\r\n\r\n", b"\0", b":", b" ", b"%", b'"', b"{", b"0")
            )
    return Hostile("damaged", bytes(data), frozenset())


_TABLE = tuple(cases())
