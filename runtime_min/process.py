"""The process of a command: its signals, and the packages that it cannot do without.

Python 3.8 can read this file and those that are imported before it, so that it is told that it is too old.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time

from . import unsuitable_python

_UNSUITABLE, _INTERRUPTED = 5, 130
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
_PATIENCE = 1.0
"""Seconds for which another signal does not interrupt what cleans up after the first one."""


def run_command(module: str) -> int:
    """Runs the function `run` of a module, and returns the exit code.

    It is called once in a process, whose signals it handles before it imports anything: the modules take a
    fifth of a second.
    """
    if reason := unsuitable_python():
        return _refuse(reason)
    # An interrupted import raises errors of any kind, and there is nothing to clean up yet.
    _handle(_end)
    try:
        run = importlib.import_module(module).run
    except ModuleNotFoundError as error:
        return _refuse(f"The package {error.name} is missing: pip install {error.name}")
    interrupt = _Interrupt()
    _handle(interrupt)
    try:
        return int(run())
    except BaseException:
        if not interrupt.received:
            raise
        importlib.import_module("runtime_min.output.console").tell("interrupted")
        return _INTERRUPTED
    finally:
        if interrupt.received:
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
    if sys.stderr is not None:
        os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


class _Interrupt:
    """A handler that raises `KeyboardInterrupt`, of which an import may make another error."""

    def __init__(self) -> None:
        self.received = False
        self._last = float("-inf")

    def __call__(self, number: int, frame: object) -> None:
        self.received = True
        if time.monotonic() - self._last > _PATIENCE:
            self._last = time.monotonic()
            raise KeyboardInterrupt
