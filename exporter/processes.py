"""A function in a Python process of its own that exchanges values with this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

from exporter.errors import ReferenceProcessError
from runtime_min.errors import KokoroError

_WHY = "before it had answered: what it wrote to the standard error stream says why."


@dataclass(frozen=True)
class Failure:
    """The message that a process sends in place of a value if it failed."""

    message: str


class Channel:
    """Exchanges values with another process; it may be given to a process that is started."""

    def __init__(self, connection: Connection) -> None:
        """Takes this process's end of a connection."""
        self._connection = connection

    def send(self, value: object) -> None:
        """Sends a picklable value.

        Raises:
            ReferenceProcessError: the process failed, or has ended.
        """
        try:
            self._connection.send(value)
        except OSError:
            # Its last message tells why.
            while True:
                self.receive()

    def receive(self) -> Any:
        """Waits for the next value and returns it.

        Raises:
            ReferenceProcessError: the process failed, or ended without a value.
        """
        try:
            value = self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        if isinstance(value, Failure):
            raise ReferenceProcessError(value.message)
        return value

    def close(self) -> None:
        """Closes this end."""
        self._connection.close()

    def shared(self) -> Channel:
        """Returns the channel for another process; meanwhile, this one leaves it alone."""
        return Channel(self._connection)

    def _ended(self) -> ReferenceProcessError:
        self._connection.close()
        return ReferenceProcessError(f"A process of this command ended {_WHY}")


class Process(Channel):
    """A process that runs a function; it ends when it is closed, and with the process that started it."""

    def __init__(self, function: Callable[..., None], *arguments: Any, starts_others: bool = False) -> None:
        """Starts the process, in a fresh Python and not as a fork.

        Args:
            function: a module's function; its first argument is a connection to this process.
            arguments: picklable; what else the function takes.
            starts_others: the function starts processes itself.
        """
        context = multiprocessing.get_context("spawn")
        connection, other_end = context.Pipe()
        super().__init__(connection)
        self._process = context.Process(
            target=_run, args=(other_end, function, arguments), daemon=not starts_others
        )
        try:
            with uninterrupted():
                self._process.start()
        except BaseException:
            self.close()
            raise
        other_end.close()

    def close(self) -> None:
        """Ends the process."""
        super().close()
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ended(self) -> ReferenceProcessError:
        self._connection.close()
        self._process.join()
        status = self._process.exitcode
        return ReferenceProcessError(f"A process of this command ended (exit status {status}) {_WHY}")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Has Ctrl-C and SIGTERM wait until the context ends: nobody could end a process that started halfway."""
    if threading.current_thread() is not threading.main_thread():
        # Signals interrupt the main thread alone.
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    earlier = {number: signal.signal(number, lambda *call: received.append(call)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0][0])


def end_with_parent() -> None:
    """Has this process end as soon as the one that started it is gone, even if that was killed."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _run(connection: Connection, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    # Ctrl-C reaches every process of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    os.dup2(2, 1)  # the standard output belongs to the command
    warnings.simplefilter("ignore")
    try:
        function(connection, *arguments)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the process that started this one has ended
    except KokoroError as error:
        connection.send(Failure(str(error)))
    except Exception:
        connection.send(Failure(traceback.format_exc()))
