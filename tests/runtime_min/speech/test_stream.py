"""A stream computes one piece ahead, ends as it should, and leaves nothing behind however it is left."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from functools import partial

import numpy as np
import pytest

from runtime_min.errors import ForkError, InputError, StreamClosedError
from runtime_min.speech.stream import Stream
from runtime_min.speech.timing import Audio
from runtime_min.threads import WorkerThread
from tests.support.tiny.runtime_alone import no_other_threads_run, running_threads


def piece(number: int) -> Audio:
    return Audio(np.full(10, number, np.float32), 24_000, np.ones(1, np.int64), "a")


class Source(Iterator[Audio]):
    """Pieces that are counted while they are computed, each when it is let."""

    def __init__(self, count: int, *, failing: bool = False) -> None:
        self.count = count
        self.failing = failing
        self.begun = 0
        self.let = threading.Semaphore(10**6)

    def __next__(self) -> Audio:
        self.begun += 1
        assert self.let.acquire(timeout=20)
        if self.begun > self.count:
            if self.failing:
                raise InputError("no more")
            raise StopIteration
        return piece(self.begun)


def values(pieces: list[Audio]) -> list[int]:
    return [int(found.samples[0]) for found in pieces]


def settled(source: Source) -> int:
    """Number of pieces that were begun when no more are."""
    before = -1
    while before != source.begun:
        before = source.begun
        time.sleep(0.05)
    return before


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[Callable[[], None]]:
    """Waits until the threads of all streams have ended, in each test at the latest after it."""
    wait = partial(no_other_threads_run, running_threads())
    yield wait
    wait()


def test_pieces_come_in_order_and_then_it_ends() -> None:
    stream = Stream(Source(5), "aaaaa")
    assert values(list(stream)) == [1, 2, 3, 4, 5]
    with pytest.raises(StopIteration):
        next(stream)
    stream.close()
    assert list(stream) == [] and stream.phonemes == "aaaaa"


def test_one_piece_is_computed_ahead_and_never_more() -> None:
    source = Source(10)
    with Stream(source, "") as stream:
        for taken in range(4):
            assert settled(source) == taken + 1
            next(stream)


def test_a_closed_stream_refuses_more_and_computes_no_more(no_threads_left: Callable[[], None]) -> None:
    source = Source(10)
    stream = Stream(source, "")
    next(stream)
    stream.close()
    stream.close()
    begun = settled(source)
    assert begun <= 2
    with pytest.raises(StreamClosedError, match="closed before its end"):
        next(stream)
    no_threads_left()
    assert source.begun == begun


def test_closing_does_not_wait_for_the_piece_that_is_computed(no_threads_left: Callable[[], None]) -> None:
    source = Source(10)
    source.let = threading.Semaphore(0)
    stream = Stream(source, "")
    stream.close()
    source.let.release()
    no_threads_left()
    assert source.begun <= 1


def test_closing_from_another_thread_wakes_the_consumer_with_an_error() -> None:
    source = Source(10)
    source.let = threading.Semaphore(0)
    stream = Stream(source, "")
    closer = threading.Timer(0.1, lambda: (stream.close(), source.let.release()))
    closer.start()
    with pytest.raises(StreamClosedError):
        next(stream)
    closer.join()


def test_an_exception_of_the_consumer_stops_it(no_threads_left: Callable[[], None]) -> None:
    source = Source(10)
    with pytest.raises(KeyError), Stream(source, "") as stream:
        for _ in stream:
            raise KeyError
    no_threads_left()
    assert source.begun <= 2


def test_a_forgotten_stream_stops(no_threads_left: Callable[[], None]) -> None:
    source = Source(10)
    next(Stream(source, ""))
    gc.collect()
    no_threads_left()
    assert source.begun <= 2


def test_stages_that_nobody_waits_for_do_not_begin() -> None:
    """Of streams that are closed or forgotten, the next utterance waits for one stage at most."""
    computing, let, begun = WorkerThread(), threading.Semaphore(0), []

    def stage(stream: int, number: int) -> None:
        begun.append((stream, number))
        assert let.acquire(timeout=20)

    def pieces(stream: int) -> Iterator[Audio]:
        for number in range(5):
            computing.call(stage, stream, number)
        yield piece(stream)

    streams = [Stream(pieces(stream), "") for stream in range(60)]
    while not begun:
        time.sleep(0.001)
    streams.pop().close()
    streams.clear()
    gc.collect()
    let.release(400)
    computing.call(begun.append, "next utterance")
    assert len(begun) == 2 and begun[1] == "next utterance"


def test_an_interrupt_ends_a_stream_as_it_ends_a_generator() -> None:
    source = Source(10)
    source.let = threading.Semaphore(0)
    stream = Stream(source, "")
    main = threading.main_thread().ident

    def interrupt() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        # The piece in hand is finished first.
        time.sleep(0.1)
        source.let.release(10)

    timer = threading.Timer(0.05, interrupt)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        next(stream)
    with pytest.raises(StreamClosedError):
        next(stream)
    timer.join()


def test_an_error_comes_in_its_place_and_ends_the_stream() -> None:
    stream = Stream(Source(2, failing=True), "")
    assert values([next(stream), next(stream)]) == [1, 2]
    with pytest.raises(InputError, match="no more"):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)


def test_a_child_process_is_told_instead_of_waiting_for_ever() -> None:
    with Stream(Source(5), "") as stream:
        child = os.fork()
        if child == 0:
            try:
                next(stream)
            except ForkError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_the_loop_of_asyncio_runs_while_a_piece_is_computed() -> None:
    source = Source(3)
    source.let = threading.Semaphore(0)

    async def main() -> list[Audio]:
        async with Stream(source, "") as stream:
            asyncio.get_running_loop().call_later(0.05, source.let.release, 10)
            return [found async for found in stream]

    assert values(asyncio.run(main())) == [1, 2, 3]


def test_an_asynchronous_iterator_is_closed_as_others_are() -> None:
    async def main() -> list[Audio]:
        async with aclosing(Stream(Source(3), "")) as stream:
            found = [await anext(stream)]
        with pytest.raises(StreamClosedError):
            await anext(stream)
        return found

    assert values(asyncio.run(main())) == [1]


def test_a_cancelled_task_stops_its_stream(no_threads_left: Callable[[], None]) -> None:
    source = Source(10)
    source.let = threading.Semaphore(0)
    streams = []

    async def consume() -> None:
        streams.append(Stream(source, ""))
        async for _ in streams[0]:
            pass

    async def main() -> None:
        task = asyncio.create_task(consume())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    source.let.release(10)
    no_threads_left()
    assert source.begun == 1
    with pytest.raises(StreamClosedError):
        next(streams[0])


def test_errors_and_closing_reach_asyncio_too(
    recwarn: pytest.WarningsRecorder, no_threads_left: Callable[[], None]
) -> None:
    async def main() -> None:
        stream = Stream(Source(1, failing=True), "")
        await anext(stream)
        with pytest.raises(InputError):
            await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        source = Source(9)
        source.let = threading.Semaphore(0)
        closed = Stream(source, "")
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, closed.close)
        loop.call_later(0.1, source.let.release, 10)
        with pytest.raises(StreamClosedError):
            await anext(closed)

    asyncio.run(main())
    no_threads_left()
    gc.collect()
    assert not recwarn.list
