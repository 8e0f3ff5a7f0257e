"""Threads that run functions for others; those of closed bundles are used again.

A caller may be interrupted at any moment (Ctrl-C raises in the middle of whatever it does), and must then
leave nothing locked that the thread waits for. A queue that is written in C guarantees that; futures do not.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from ..errors import ClosedBundleError

Result = TypeVar("Result")
_Reply = SimpleQueue[tuple[bool, Any]]

_idle: list[WorkerThread] = []
_running: set[WorkerThread] = set()
_ended = threading.Event()


class WorkerThread:
    """One thread, on which calls from any thread run one after the other."""

    def __init__(self, kind: int) -> None:
        """Starts the thread; one of the same `kind` may be used in its place."""
        self.kind = kind
        self.process = os.getpid()
        self._requests: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], _Reply] | None] = SimpleQueue()
        # A daemon, because Python would wait for others before `_end_all` ends them.
        self._thread = threading.Thread(target=self._serve, name="kokoro", daemon=True)
        self._thread.start()
        _running.add(self)

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs `function` on the thread and returns what it returns, or raises what it raises.

        Raises:
            ClosedBundleError: the interpreter is ending.
        """
        if _ended.is_set():
            raise ClosedBundleError
        reply: _Reply = SimpleQueue()
        self._requests.put((function, arguments, reply))
        returned, value = reply.get()
        if returned:
            result: Result = value
            return result
        try:
            raise value
        finally:
            # The error has this frame, and this frame must not have the error.
            del value

    def end(self) -> None:
        """Waits until the thread has run all earlier calls, and ends it."""
        self._requests.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (request := self._requests.get()) is not None:
            function, arguments, reply = request
            try:
                reply.put((True, function(*arguments)))
            except BaseException as error:
                reply.put((False, error))
            # Whoever waits for the next request must not hold the memory of the last one.
            del request, function, arguments, reply


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
    """Keeps a thread for whoever takes one of its kind next."""
    _idle.append(thread)


@atexit.register
def _end_all() -> None:
    """Lets what is running come to its end before the libraries that it runs in are torn down."""
    _ended.set()
    for thread in _running:
        if thread.process == os.getpid():
            thread.end()
