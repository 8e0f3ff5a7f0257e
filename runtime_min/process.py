"""The process of a command: its signals, and the packages that it cannot do without.

Python 3.8 can read this file and those that are imported before it, so that it is told that it is too old.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from . import unsuitable_python

_UNSUITABLE, _INTERRUPTED = 5, 130
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
_SWITCH = 0.0001
"""Seconds after which a thread leaves the interpreter to others, which need it for less."""
_ended_by: list[int] = []
"""The signal that ends the process at once."""
_PATIENCE = 1.0
"""Seconds after a signal in which another one does not interrupt the clean-up."""


def run_command(module: str) -> NoReturn:
    """Runs the function `run` of a module, and ends the process.

    It handles signals before it imports anything: the modules take a fifth of a second.
    """
    # Imports would hold up the threads that compare a bundle's files by 5 ms for each block, and threads of
    # numpy's linear algebra, which have nothing to do, would take the cores from them.
    sys.setswitchinterval(_SWITCH)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = _run(module)
    # The interpreter would take down all modules and libraries, one by one.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)


@contextmanager
def importing() -> Iterator[None]:
    """Has a signal end the command at once: an interrupted import raises errors of any kind.

    Within the context there must be nothing to clean up, and no garbage is collected: imports leave none, and
    looking for it takes 10 ms.
    """
    gc.disable()
    taken = [number for number in _SIGNALS if isinstance(signal.getsignal(number), _Interrupt)]
    handlers = {number: signal.signal(number, _end) for number in taken}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # Imported objects stay, so the garbage collector need not look through them later.
        gc.freeze()
        gc.enable()


def _run(module: str) -> int:
    if reason := unsuitable_python():
        return _refuse(reason)
    interrupt = _Interrupt()
    _handle(interrupt)
    try:
        with importing():
            run = importlib.import_module(module).run
        return int(run())
    except ModuleNotFoundError as error:
        return _refuse(f"The package {error.name} is missing: pip install {error.name}")
    except BaseException:
        if not interrupt.received:
            raise
        importlib.import_module("runtime_min.output.console").tell("interrupted")
        return _INTERRUPTED
    finally:
        # All is done, and a signal would interrupt what ends the process.
        _handle(signal.SIG_IGN)


def _refuse(reason: str) -> int:
    print(f"error: {reason}", file=sys.stderr)
    return _UNSUITABLE


def _handle(handler: object) -> None:
    for number in _SIGNALS:
        # nohup has SIGHUP ignored, and a shell the signals of a background job.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)  # type: ignore[arg-type]


def _end(number: int, frame: object) -> None:
    # Another signal may come between the two calls.
    if not _ended_by:
        _ended_by.append(number)
        if sys.stderr is not None:
            os.write(2, b"interrupted\n")
        os._exit(_INTERRUPTED)


class _Interrupt:
    """A handler that raises `KeyboardInterrupt`, of which an import may make another error."""

    def __init__(self) -> None:
        self.received = False
        self._last = float("-inf")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received = True
        if time.monotonic() - self._last > _PATIENCE and not _frees_an_object(frame):
            self._last = time.monotonic()
            raise KeyboardInterrupt


def _frees_an_object(frame: FrameType | None) -> bool:
    """Returns whether a frame runs in a ``__del__``, where Python prints an error and goes on."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
