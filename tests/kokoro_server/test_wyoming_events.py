"""Any bytes are the events that the wyoming package reads from them, or are refused, in bounded memory."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wyoming.error import Error
from wyoming.event import Event, async_read_event, async_write_event

from kokoro_server.events import EventError, FramingError, read_event
from kokoro_server.wyoming import raw_refusal
from tests.support.fakes.wyoming_client import message
from tests.support.fuzzing.bundles import damaged_bytes

MOST = 400
"""Bytes of a message in these tests."""

TEXT = st.text(max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)
LENGTHS = st.integers(0, 60) | st.integers() | JSON
HEADERS = st.fixed_dictionaries(
    {"type": TEXT},
    optional={"data": OBJECTS | JSON, "data_length": LENGTHS, "payload_length": LENGTHS, "version": JSON},
)
MESSAGES = (
    # Whole ones, of whose lengths some are wrong; what is not JSON; what is not even text.
    st.builds(message, HEADERS | JSON, JSON.map(json.dumps).map(str.encode), st.binary())
    | st.builds(message, HEADERS, st.binary(max_size=60), st.binary(max_size=60))
    | st.binary(max_size=2 * MOST)
    | st.sampled_from([b"\n", b"{}\n", b"[" * 2 * MOST, b'{"type": "' + b"x" * MOST])
)
STREAMS = st.lists(MESSAGES, max_size=4).map(b"".join)
SOUND = [
    message({"type": "describe"}),
    message({"type": "synthesize", "data": {"text": "Hello.", "voice": {"name": "am_adam"}}, "version": "1"}),
    message({"type": "synthesize"}, b'{"text": "\\u00a1Hola! \\ud800", "voice": {"language": "es-ES"}}'),
    message({"type": "audio-chunk", "data": {"rate": 24000}}, b'{"width": 2, "channels": 1}', bytes(64)),
]
CUTS = st.lists(st.integers(0, 1_000), max_size=6)


class Counted(asyncio.StreamReader):
    """Counts what is taken from it, and the most that is asked for at a time."""

    taken = 0
    asked = 0

    async def readuntil(self, separator: Any = b"\n") -> bytes:
        return self._count(await super().readuntil(separator))

    async def readexactly(self, n: int) -> bytes:
        self.asked = max(self.asked, n)
        return self._count(await super().readexactly(n))

    def _count(self, data: bytes) -> bytes:
        self.taken += len(data)
        return data


Outcome = tuple[str, int]
"""Events that were read, and the number of bytes of the stream up to each."""


async def ours(parts: Sequence[bytes]) -> list[Outcome]:
    """Reads a stream that arrives in parts, to its end or a message whose end is unknown."""
    reader = Counted(limit=MOST)
    outcomes: list[Outcome] = []

    async def read() -> None:
        while True:
            before = reader.taken
            try:
                event = await read_event(reader, MOST)
            except FramingError:
                outcomes.append(("lost", before))
                return
            except EventError:
                outcomes.append(("refused", reader.taken))
            else:
                outcomes.append((repr(event), reader.taken))
                if event is None:
                    return
            finally:
                assert reader.taken - before <= MOST + 1 and reader.asked <= MOST

    reading = asyncio.ensure_future(read())
    for part in parts:
        reader.feed_data(part)
        await asyncio.sleep(0)
    reader.feed_eof()
    await reading
    return outcomes


async def theirs(stream: bytes) -> str:
    """Returns what the wyoming package reads first."""
    reader = asyncio.StreamReader(limit=1 << 20)
    reader.feed_data(stream)
    reader.feed_eof()
    return repr(await async_read_event(reader))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def parts_of(stream: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[start:stop] for start, stop in pairwise(places)]


def check(runner: asyncio.Runner, stream: bytes, cuts: Sequence[int]) -> list[Outcome]:
    found = runner.run(ours([stream] if stream else []))
    assert runner.run(ours(parts_of(stream, cuts))) == found
    start = 0
    for outcome, end in found:
        if outcome not in ("lost", "refused"):
            assert runner.run(theirs(stream[start:])) == outcome
        start = end
    return found


@settings(max_examples=100)
@given(STREAMS, CUTS)
def test_what_is_read_is_the_event_that_the_package_reads(
    runner: asyncio.Runner, stream: bytes, cuts: list[int]
) -> None:
    check(runner, stream, cuts)


@pytest.mark.slow
def test_damaged_streams_are_read_as_the_package_reads_them(runner: asyncio.Runner) -> None:
    count: Counter[str] = Counter()
    for seed in range(100_000):
        random = Random(seed)
        sound = random.choices(SOUND, k=3)
        stream = damaged_bytes(random, b"".join(sound[:2]), sound[2])
        for outcome, _ in check(runner, stream, random.sample(range(1_000), 3)):
            count[outcome if outcome in ("lost", "refused") else "end" if outcome == "None" else "event"] += 1
    print(dict(count))
    assert min(count.values()) > 5_000


class Written(list[bytes]):
    """A connection to which the wyoming package writes."""

    write = list.append
    writelines = list.extend

    async def drain(self) -> None:
        pass


@given(st.builds(Event, TEXT, OBJECTS, st.none() | st.binary(max_size=80)))
def test_what_the_package_writes_is_read(runner: asyncio.Runner, event: Event) -> None:
    written = Written()
    runner.run(async_write_event(event, written))  # type: ignore[arg-type]
    stream = b"".join(written)
    ((outcome, end), *_) = runner.run(ours([stream]))
    if len(stream) <= MOST:
        assert end == len(stream) and outcome == runner.run(theirs(stream)) != "None"
    else:
        assert (outcome, end) == ("lost", 0)


@given(st.integers(-3, 2 * MOST), st.integers(-3, 2 * MOST) | st.integers(), st.booleans())
def test_a_size_beyond_the_limit_is_refused_before_it_is_read(
    runner: asyncio.Runner, one: int, other: int, swapped: bool
) -> None:
    lengths = {"data_length": other, "payload_length": one}
    if swapped:
        lengths = {"data_length": one, "payload_length": other}
    line = message({"type": "x", **lengths})
    rest = b"{}" + bytes(3 * MOST)
    reader = Counted(limit=MOST)
    reader.feed_data(line + rest)
    if one < 0 or other < 0 or len(line) + one + other > MOST:
        with pytest.raises(FramingError, match="Expected"):
            runner.run(read_event(reader, MOST))
        assert reader.taken == len(line) and reader.asked == 0
    else:
        with suppress(EventError):
            runner.run(read_event(reader, MOST))
        assert reader.taken == len(line) + one + other


def test_a_client_without_a_descriptor_reads_an_error(runner: asyncio.Runner) -> None:
    async def read() -> Event | None:
        reader = asyncio.StreamReader()
        reader.feed_data(raw_refusal())
        reader.feed_eof()
        return await async_read_event(reader)

    event = runner.run(read())
    assert event is not None and "try again in 5 s" in Error.from_event(event).text
