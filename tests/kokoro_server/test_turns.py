"""Requests take turns."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_server.errors import RequestError
from kokoro_server.turns import Turns


class Named(str):
    """A piece with a name and a length."""

    seconds = 1.0


class Pieces(Iterator[Named]):
    """Pieces that are remembered in the order in which they are computed."""

    computed: list[str]

    def __init__(self, name: str, count: int, computed: list[str], seconds: float = 0.0) -> None:
        self._names = iter(Named(f"{name}{number}") for number in range(count))
        self.computed = computed
        self._seconds = seconds

    def __next__(self) -> Named:
        name = next(self._names)
        time.sleep(self._seconds)
        self.computed.append(name)
        return name


DONE = Named("done")


async def taken(turns: Turns, pieces: Iterator[Named]) -> list[Named]:
    return [piece async for piece in turns.take(pieces)]


def test_no_request_waits_for_more_than_a_piece_of_each_other() -> None:
    computed: list[str] = []

    async def main() -> None:
        turns = Turns(1, 10)
        long = [asyncio.create_task(taken(turns, Pieces(name, 9, computed, 0.005))) for name in "abc"]
        await asyncio.sleep(0.02)
        short = await taken(turns, Pieces("z", 2, computed))
        assert short == ["z0", "z1"]
        assert not any(task.done() for task in long)
        assert [len(pieces) for pieces in await asyncio.gather(*long)] == [9, 9, 9]
        turns.close()

    asyncio.run(main())
    first = computed.index("z0")
    assert computed.index("z1") - first <= 4
    # Round after round, each request has a piece.
    for start in range(0, first - 2, 3):
        assert sorted(name[0] for name in computed[start : start + 3]) == ["a", "b", "c"]


def test_what_is_cancelled_while_it_waits_is_not_computed() -> None:
    computed: list[str] = []

    async def main() -> None:
        turns = Turns(1, 10)
        release = threading.Event()
        blocking = asyncio.create_task(taken(turns, iter(lambda: release.wait() and DONE, DONE)))
        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(taken(turns, Pieces("a", 3, computed)))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        release.set()
        assert await blocking == []
        assert await taken(turns, Pieces("b", 1, computed)) == ["b0"]
        turns.close()

    asyncio.run(main())
    assert computed == ["b0"]


def test_a_full_queue_refuses_and_names_the_time() -> None:
    async def main() -> None:
        turns = Turns(2, 4)
        release = threading.Event()
        blocked = [iter(lambda: release.wait() and DONE, DONE) for _ in range(4)]
        tasks = [asyncio.create_task(taken(turns, pieces)) for pieces in blocked]
        await asyncio.sleep(0.01)
        with pytest.raises(RequestError, match="4 requests are waiting: try again in 2 s") as caught:
            await taken(turns, iter(()))
        assert caught.value.status == 503 and caught.value.headers == {"Retry-After": "2"}
        release.set()
        await asyncio.gather(*tasks)
        assert await taken(turns, iter([Named("a")])) == ["a"]
        turns.close()

    asyncio.run(main())


def test_a_short_request_waits_for_few_pieces_of_twenty_long_ones() -> None:
    computed: list[str] = []

    async def main() -> None:
        turns = Turns(2, 100)
        long = [asyncio.create_task(taken(turns, Pieces(f"{n}-", 500, computed, 0.001))) for n in range(20)]
        while len(computed) < 100:
            await asyncio.sleep(0.001)
        before = len(computed)
        assert await taken(turns, Pieces("short", 3, computed)) == ["short0", "short1", "short2"]
        # Two pieces are being computed, and one turn of four goes by time; before, each of three took 20.
        assert len(computed) - before - 3 <= 10
        for task in long:
            task.cancel()
        await asyncio.gather(*long, return_exceptions=True)
        turns.close()

    asyncio.run(main())


def test_a_long_request_goes_on_while_short_ones_keep_coming() -> None:
    computed: list[str] = []

    async def main() -> None:
        turns = Turns(1, 100)
        long = asyncio.create_task(taken(turns, Pieces("long", 30, computed, 0.001)))

        async def come(number: int) -> None:
            while not long.done():
                await taken(turns, Pieces(f"short{number}-", 1, computed, 0.001))

        await asyncio.gather(long, *map(come, range(10)))
        turns.close()

    asyncio.run(main())
    places = [place for place, name in enumerate(computed) if name.startswith("long")]
    # It waits longest after ten others have come, each of which is served in turn.
    assert max(after - before for before, after in itertools.pairwise(places)) <= 60


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=12),
    st.integers(1, 3),
    st.sets(st.integers(0, 11)),
)
def test_everything_is_computed_once_and_in_order(
    requests: list[tuple[int, int]], slots: int, leaving: set[int]
) -> None:
    computed: list[str] = []

    async def main() -> None:
        turns = Turns(slots, 100)
        tasks = []
        for number, (start, count) in enumerate(requests):
            for _ in range(start):
                await asyncio.sleep(0)
            tasks.append(asyncio.create_task(taken(turns, Pieces(f"{number}-", count, computed))))
        for number in leaving & set(range(len(tasks))):
            tasks[number].cancel()
        found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        for number, (pieces, (_, count)) in enumerate(zip(found, requests, strict=True)):
            whole = [f"{number}-{piece}" for piece in range(count)]
            assert pieces == whole or (number in leaving and isinstance(pieces, asyncio.CancelledError))
            mine = [name for name in computed if name.startswith(f"{number}-")]
            assert mine == whole[: len(mine)]
        await asyncio.to_thread(turns.close)
        assert turns._asking == 0 and not turns._computing and not turns._waiting

    asyncio.run(main())


@pytest.mark.parametrize("moment", ["before", "waiting", "computing", "taken", "ended"])
def test_pieces_are_closed_whenever_their_request_ends(moment: str) -> None:
    closed: list[str] = []
    release = threading.Event()

    def pieces() -> Iterator[Named]:
        try:
            yield Named("first")
            release.wait()
            yield Named("second")
        finally:
            closed.append(moment)

    async def main() -> None:
        turns = Turns(1, 10)
        busy = threading.Event()
        blocking = asyncio.create_task(taken(turns, iter(lambda: busy.wait() and DONE, DONE)))
        await asyncio.sleep(0.01)
        stream = turns.take(pieces())
        if moment != "waiting":
            busy.set()
        if moment != "before":
            following = asyncio.ensure_future(anext(stream))
            if moment != "waiting":
                await following
                following = asyncio.ensure_future(anext(stream, None))
            await asyncio.sleep(0.01)
            if moment in ("taken", "ended"):
                release.set()
                await following
            if moment == "ended":
                assert await anext(stream, None) is None
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await stream.aclose()
        release.set()
        busy.set()
        await blocking
        await asyncio.to_thread(turns.close)
        await asyncio.sleep(0.01)

    gc.disable()
    asyncio.run(main())
    gc.enable()
    assert closed == ([] if moment in ("before", "waiting") else [moment])
