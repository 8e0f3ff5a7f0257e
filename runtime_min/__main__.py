"""Runs the command: ``python -m runtime_min``, ``kokoro-speak``, and the ``runtime_min.pyz`` of a bundle.

Signals are handled before anything else is imported, which takes a fifth of a second. Python 3.8 can read
this file and the package's own, so that it is told that it is too old.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import runtime_min

_UNSUITABLE, _INTERRUPTED = 5, 130
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
_PATIENCE = 1.0
"""Seconds for which another signal does not interrupt what cleans up after the first one."""


def main() -> int:
    """Speaks and returns the exit code; to be called once in a process, because it handles its signals."""
    if reason := runtime_min.unsuitable_python():
        return _refuse(reason)
    # An interrupted import raises errors of any kind, and there is nothing to clean up yet.
    _handle(_end)
    try:
        from .arguments import run
        from .output.console import tell
    except ModuleNotFoundError as error:
        return _refuse(f"The package {error.name} is missing: pip install {error.name}")
    interrupt = _Interrupt()
    _handle(interrupt)
    try:
        return run()
    except BaseException:
        if not interrupt.received:
            raise
        _handle(signal.SIG_IGN)
        tell("interrupted")
        return _INTERRUPTED


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


if __name__ == "__main__":
    sys.exit(main())
