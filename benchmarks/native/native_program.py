"""A program of C that speaks with one engine, as ``program.c`` describes it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.measure.engine import Spoken
from exporter.measure.fresh_process import EngineError, MeasuredProcess

_SOURCES = Path(__file__).parent
_FLAGS = ("-std=c99", "-O2", "-D_POSIX_C_SOURCE=199309L", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class NativeProgram:
    """An engine in a program of its own."""

    name: str
    program: str
    arguments: tuple[str, ...]
    """Arguments of the engine, without the number of threads."""
    threads: int
    model_bytes: int
    """Size of the files of the model."""
    library_bytes: int
    """Size of the libraries that the program needs besides the system's."""

    def command(self, phonemes: str, wav: str) -> list[str]:
        """Returns the command line that writes a WAV file."""
        return [self.program, "once", phonemes, wav, str(self.threads), *self.arguments]


class NativeProcess(MeasuredProcess):
    """A process of a program that has loaded its engine."""

    def __init__(self, engine: NativeProgram) -> None:
        """Starts the process and waits until the engine is loaded.

        Raises:
            EngineError: it could not be loaded.
        """
        command = [engine.program, "lines", str(engine.threads), *engine.arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
        super().__init__(engine.name, command, engine.threads, **pipes)
        self._read()

    def speak(self, phonemes: str) -> Spoken:
        """Speaks, and returns how long it took.

        Raises:
            EngineError: the engine failed.
        """
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            print(phonemes, file=self.process.stdin, flush=True)
        seconds, samples = self._read().split()
        return Spoken(float(seconds), float(seconds), int(samples))

    def close(self) -> None:
        """Ends the process."""
        self.process.communicate()
        super().close()

    def _read(self) -> str:
        """Returns the next line that the program prints."""
        assert self.process.stdout is not None
        line: str = self.process.stdout.readline()
        if not line:
            raise EngineError(self._end())
        return line


def compile_program(source: str, includes: Sequence[Path], library: Path, output: Path) -> None:
    """Compiles a program of this folder with zig.

    Args:
        source: name of the engine's source.
        includes: directories of the library's headers.
        library: shared library of the engine.
        output: the program.

    Raises:
        EngineError: the compiler failed.
    """
    sources = [str(_SOURCES / name) for name in ("program.c", source)]
    folders = [f"-I{path}" for path in includes]
    linked = [str(library), f"-Wl,-rpath,{library.parent}", "-o", str(output)]
    command = [sys.executable, "-m", "ziglang", "cc", *_FLAGS, *folders, *sources, *linked]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise EngineError(f"{source} could not be compiled:\n{done.stderr.strip()}")
