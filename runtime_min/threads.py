"""Threads that run functions for other threads, and their number; those of closed bundles are reused.

A caller may be interrupted at any moment (Ctrl-C raises in the middle of whatever it does), and must then
leave nothing locked that the thread waits for, and no thread that nobody ends. Queues and thread starts that
are written in C guarantee that; futures, executors and `threading.Thread` do not.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .errors import ClosedBundleError, ResourceError, ThreadsError

_MAXIMUM_THREADS = 1_024
_THREADS_VARIABLE = "TVM_NUM_THREADS"
_LOOKS = 1_000
"""Times that an ended thread is looked for, a millisecond apart."""

Result = TypeVar("Result")

_idle: list[WorkerThread] = []
_running: list[_Service] = []
_here = threading.local()
_ended = threading.Event()


class Reply(Generic[Result]):
    """The future result of a call, for one caller, who takes it once."""

    def __init__(self) -> None:
        """Makes a reply without an outcome."""
        self._outcome: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
        self._callbacks: SimpleQueue[Callable[[], object]] = SimpleQueue()

    def take(self) -> Result:
        """Waits until the function has run, and returns what it returned or raises what it raised."""
        returned, value = self._outcome.get()
        if returned:
            result: Result = value
            return result
        if isinstance(value, ClosedBundleError):
            _end_daemon()
        try:
            raise value
        finally:
            # The error refers to this frame, so this frame must not refer to the error.
            del value

    def notify(self, callback: Callable[[], object]) -> None:
        """Calls `callback`, once or twice and on any thread, as soon as `take` need not wait."""
        self._callbacks.put(callback)
        # Whichever thread comes second sees what the first one did.
        if not self._outcome.empty():
            callback()

    def give(self, returned: bool, value: Any) -> None:
        """Gives the reply, on the thread that ran the function."""
        self._outcome.put((returned, value))
        while not self._callbacks.empty():
            # The loop of asyncio that waited may be closed by now.
            with suppress(RuntimeError):
                self._callbacks.get()()


class WorkerThread:
    """One thread, on which calls from any thread run one after the other.

    It ends with the last reference to this object, or when the interpreter ends.
    """

    def __init__(self, kind: int = 0) -> None:
        """Starts the thread; one of the same `kind` may be used in its place.

        Raises:
            ResourceError: the system starts no more threads.
        """
        _end_daemon()
        self.kind = kind
        self._service = _Service()
        try:
            _thread.start_new_thread(self._service.run, ())
        except RuntimeError as failure:
            raise ResourceError("Starting a thread", failure) from failure

    @property
    def process(self) -> int:
        """The process that has the thread."""
        return self._service.process

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs `function` on the thread and returns what it returns, or raises what it raises.

        Raises:
            ClosedBundleError: the interpreter is ending, or the calling thread was stopped.
        """
        return self.ask(function, *arguments).take()

    def ask(self, function: Callable[..., Result], *arguments: Any) -> Reply[Result]:
        """Returns the reply of `function`, which runs on the thread; does not wait for it.

        Raises:
            ClosedBundleError: the interpreter is ending.
        """
        if _ended.is_set():
            _end_daemon()
            raise ClosedBundleError
        reply: Reply[Result] = Reply()
        self._service.requests.put((function, arguments, reply, getattr(_here, "service", None)))
        return reply

    def stop(self) -> None:
        """Ends the thread after its present call, whose own calls on other threads are refused."""
        self._service.stop()

    def __del__(self) -> None:
        # Starting it may have been interrupted.
        with suppress(AttributeError):
            self._service.stop()


def is_stopped() -> bool:
    """Returns whether nobody wants the results of this thread of a `WorkerThread` any more."""
    service: _Service | None = getattr(_here, "service", None)
    return service is not None and service.stopped


def _end_daemon() -> None:
    """Ends a daemon thread in silence while the interpreter ends: no caller waits for an error of it then.

    Raises:
        SystemExit: this is such a thread, and none of a `WorkerThread`.
    """
    if _ended.is_set() and not hasattr(_here, "service") and threading.current_thread().daemon:
        raise SystemExit


class _Service:
    """The work of a thread; has no reference to its `WorkerThread`, so that this object can be freed."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.requests: SimpleQueue[
            tuple[Callable[..., Any], tuple[Any, ...], Reply[Any], _Service | None] | None
        ] = SimpleQueue()
        self.stopped = False
        """Nobody wants the results of this thread any more."""
        self.ended: SimpleQueue[None] = SimpleQueue()

    def run(self) -> None:
        _here.service = self
        _running.append(self)
        while (request := self.requests.get()) is not None:
            function, arguments, reply, caller = request
            try:
                if self.stopped or (caller is not None and caller.stopped):
                    raise ClosedBundleError
                reply.give(True, function(*arguments))
            except BaseException as error:
                reply.give(False, error)
            # Whoever waits for the next request must not hold the memory of the last one.
            del request, function, arguments, reply, caller
        _running.remove(self)
        self.ended.put(None)

    def stop(self) -> None:
        self.stopped = True
        self.requests.put(None)


@contextmanager
def running(tasks: Sequence[Callable[[], object]], threads: int) -> Iterator[None]:
    """Runs tasks from the beginning of the context to its end at the latest.

    Args:
        tasks: begun in their order by whichever thread is free; none is begun after one has failed.
        threads: number of threads; at most one for each core and task. If there are several, the caller is
            one of them and runs tasks after the context: more threads than cores would slow the context.

    Raises:
        Exception: the first task in the order that failed raised it; it comes before an error of the context.
        ResourceError: the system starts no more threads.
    """
    waiting: SimpleQueue[tuple[int, Callable[[], object]]] = SimpleQueue()
    failures: dict[int, Exception] = {}
    stopped: list[bool] = []
    for numbered in enumerate(tasks):
        waiting.put(numbered)

    def run() -> None:
        with suppress(Empty):
            while not failures and not stopped:
                number, task = waiting.get_nowait()
                try:
                    task()
                except Exception as failure:
                    failures[number] = failure

    def finish() -> None:
        if count > 1:
            run()
        for reply in replies:
            reply.take()
        _raise_first(failures)

    count = min(threads, len(usable_cores()), len(tasks))
    try:
        workers = [WorkerThread() for _ in range(count - 1 or count)]
        replies = [worker.ask(run) for worker in workers]
        try:
            yield
        except Exception:
            finish()
            raise
        finish()
    finally:
        # An interrupted caller does not wait for what is running.
        stopped.append(True)


def _raise_first(failures: dict[int, Exception]) -> None:
    if failures:
        try:
            raise failures[min(failures)]
        finally:
            failures.clear()


def ahead(results: Iterator[Result], most: int = 4) -> Iterator[Result]:
    """Yields `results`; another thread computes up to `most` of them in advance.

    Raises:
        ResourceError: the system starts no more threads.
    """
    worker, end = WorkerThread(), object()
    replies: deque[Reply[Any]] = deque(worker.ask(next, results, end) for _ in range(most))
    while (result := replies.popleft().take()) is not end:
        replies.append(worker.ask(next, results, end))
        yield result


def choose_threads(threads: int | None) -> int:
    """Returns the number of threads: the argument, else `TVM_NUM_THREADS`, else all cores of this process.

    Raises:
        ThreadsError: it is not an integer from 1 to 1024.
    """
    found: object = threads
    if threads is None:
        setting = os.environ.get(_THREADS_VARIABLE)
        if setting is None:
            return len(usable_cores())
        found = f"{_THREADS_VARIABLE}={setting}"
        # Python reads no number of thousands of digits.
        threads = int(setting) if setting.isdecimal() and len(setting) < 5 else 0
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= _MAXIMUM_THREADS:
        raise ThreadsError(found)
    return threads


def usable_cores() -> list[int]:
    """Returns the numbers of the cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def check_threads(count: int) -> None:
    """Makes sure that the system starts `count` threads: C++ libraries end the process if it does not.

    Raises:
        ResourceError: it starts fewer.
    """
    release = threading.Event()
    threads = [threading.Thread(target=release.wait) for _ in range(count)]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as failure:
        raise ResourceError(f"Starting {count} threads", failure) from failure
    finally:
        release.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
                _wait_for_stack(thread)


def _wait_for_stack(ended: threading.Thread) -> None:
    """Waits until Linux, too, has ended a thread: only then do other threads take over its stack."""
    for _ in range(_LOOKS):
        if not os.path.exists(f"/proc/self/task/{ended.native_id}"):
            return
        time.sleep(0.001)


def take_thread(kind: int) -> WorkerThread:
    """Returns a thread that `leave_thread` was given, or a new one."""
    for left in list(_idle):
        if (left.kind, left.process) == (kind, os.getpid()):
            try:
                _idle.remove(left)
            except ValueError:
                # Another thread took it.
                continue
            return left
    return WorkerThread(kind)


def leave_thread(thread: WorkerThread) -> None:
    """Keeps a thread for the next `take_thread` of its kind."""
    _idle.append(thread)


@atexit.register
def _end_all() -> None:
    """Waits for running calls before the interpreter tears down the libraries that they run in."""
    _ended.set()
    # A thread calls only threads that are older than itself.
    for service in reversed(list(_running)):
        if service.process == os.getpid():
            service.stop()
            service.ended.get()
