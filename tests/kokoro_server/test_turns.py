"""Requests take turns."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from kokoro_server.errors import RequestError
from kokoro_server.turns import Turns


class Pieces(Iterator[str]):
    """Pieces that are remembered in the order in which they are computed."""

    computed: list[str]

    def __init__(self, name: str, count: int, computed: list[str], seconds: float = 0.0) -> None:
        self._names = iter(f"{name}{number}" for number in range(count))
        self.computed = computed
        self._seconds = seconds

    def __next__(self) -> str:
        name = next(self._names)
        time.sleep(self._seconds)
        self.computed.append(name)
        return name


async def taken(turns: Turns, pieces: Iterator[str]) -> list[str]:
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
        blocking = asyncio.create_task(taken(turns, iter(lambda: release.wait() and "done", "done")))
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
        blocked = [iter(lambda: release.wait() and "done", "done") for _ in range(4)]
        tasks = [asyncio.create_task(taken(turns, pieces)) for pieces in blocked]
        await asyncio.sleep(0.01)
        with pytest.raises(RequestError, match="4 requests are waiting: try again in 2 s") as caught:
            await taken(turns, iter(()))
        assert caught.value.status == 503 and caught.value.headers == {"Retry-After": "2"}
        release.set()
        await asyncio.gather(*tasks)
        assert await taken(turns, iter(["a"])) == ["a"]
        turns.close()

    asyncio.run(main())
