"""Python processes that start fresh and answer calls, so that one engine's time and memory are its own.

Calls travel through `multiprocessing.connection`. `multiprocessing.Process` would import the main module of
the command into the process whose memory is measured, and would give it this process's environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import Pipe
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import psutil

from exporter.errors import ExportError

P = ParamSpec("P")
R = TypeVar("R")
_ROOT = str(Path(__file__).parents[2])
# All engines run with their makers' settings, whatever the environment of the benchmark is: they choose their
# own threads, and Python may store compiled sources.
_SETTINGS = (
    "PYTHONDONTWRITEBYTECODE",
    *("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
    *("MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS", "TVM_BIND_THREADS"),
    "TVM_THREAD_POOL_SPIN_COUNT",
)


class EngineError(ExportError):
    """An engine could not be loaded, failed, or ended."""

    exit_code = 5


def environment(threads: int) -> Mapping[str, str]:
    """Returns the environment of a process that is measured, without settings that would slow it down."""
    kept = {name: value for name, value in os.environ.items() if name not in _SETTINGS}
    search = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    return kept | {"PYTHONPATH": search, "TVM_NUM_THREADS": str(threads)}


class MeasuredProcess:
    """A process whose memory and CPU time are measured; to be closed by a ``with`` block."""

    def __init__(self, name: str, command: Sequence[str], threads: int, **options: Any) -> None:
        """Starts the process.

        Args:
            name: subject of the messages of errors.
            command: its command line.
            threads: number of threads of TVM.
            options: those of `subprocess.Popen`.
        """
        # A file, and not a pipe, takes any amount of text while nobody reads it.
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115  open as long as the process
        streams = {"stdout": self._output, "stderr": self._output}
        self.name = name
        self.process = subprocess.Popen(command, env=environment(threads), **streams | options)
        self._statistics = psutil.Process(self.process.pid)

    def resident_memory(self) -> int:
        """Returns the bytes that are resident now."""
        return int(self._statistics.memory_info().rss)

    def peak_memory(self) -> int:
        """Returns the most bytes that were resident, mapped pages included.

        It is Linux's VmHWM: psutil has no such figure, and `getrusage` begins with that of the parent.
        """
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii", errors="replace")
        found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return 1024 * int(found[1])

    def private_memory(self) -> int:
        """Returns the resident bytes that no other process shares."""
        return int(self._statistics.memory_full_info().uss)

    def cpu_seconds(self) -> float:
        """Returns the CPU time that the process has used so far."""
        times = self._statistics.cpu_times()
        return float(times.user + times.system)

    def close(self) -> None:
        """Waits for the end of the process."""
        self.process.wait()
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self) -> str:
        """Returns the message about a process that ended too early."""
        status = self.process.wait()
        self._output.seek(0)
        written = self._output.read().strip() or "it wrote nothing"
        return f"The process of {self.name} ended with status {status}: {written}"


class FreshProcess(MeasuredProcess):
    """A Python process that calls functions of importable modules, one after the other."""

    def __init__(self, name: str, threads: int) -> None:
        """Starts the process.

        Args:
            name: subject of the messages of errors.
            threads: number of threads of TVM.
        """
        self._connection, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-W", "ignore", "-m", "exporter.measure.worker", str(theirs.fileno())]
            super().__init__(name, command, threads, pass_fds=[theirs.fileno()])

    def call(self, function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Calls a function in the process and returns its result.

        Raises:
            EngineError: the function failed, with the exit code of its error, or the process ended.
        """
        try:
            self._connection.send((function, arguments, options))
            result, error, exit_code = self._connection.recv()
        except (EOFError, OSError) as failure:
            raise EngineError(self._end()) from failure
        if error is None:
            answer: R = result
            return answer
        raised = EngineError(f"{self.name} failed: {error.strip()}")
        raised.exit_code = exit_code or EngineError.exit_code
        raise raised

    def close(self) -> None:
        """Ends the process."""
        self._connection.close()
        super().close()


def call_fresh(
    name: str, threads: int, function: Callable[P, R], *arguments: P.args, **options: P.kwargs
) -> R:
    """Calls a function in a fresh process and returns its result.

    Raises:
        EngineError: the function failed, or the process ended.
    """
    with FreshProcess(name, threads) as process:
        return process.call(function, *arguments, **options)
