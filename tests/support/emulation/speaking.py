"""A program that calls a C library on an emulated machine, and what it is asked for: `speak.c`."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST = 600
"""Seconds after which a program hangs."""
PROGRAM = Path(__file__).with_name("speak.c")


class Request(NamedTuple):
    """What an app asks the C library for."""

    mode: str
    """``text``, ``phonemes`` or ``stream``, which is of phonemes."""
    voice: str
    speed: float
    seed: int
    input: str


class SpeakingMachine(ABC):
    """An emulated machine with a program of `speak.c`."""

    @abstractmethod
    def command(self, *arguments: str | Path, **more: str) -> list[str]:
        """Returns what starts the program with these arguments and variables."""

    def start(
        self, bundle: Path, requests: Sequence[Request], threads: int = 1, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs the program to the end."""
        asked = [str(argument) for request in requests for argument in request]
        return self.run(bundle, str(threads), *asked, **more)

    def run(self, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[bytes]:
        """Runs the program, or another one in its place, to the end."""
        command = self.command(*arguments, **more)
        return subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, timeout=_MOST)

    def speak(
        self, bundle: Path, requests: Sequence[Request], threads: int = 1, **more: str
    ) -> list[NDArray[np.float32]]:
        """Returns the samples of each request."""
        done = self.start(bundle, requests, threads, **more)
        assert done.returncode == 0, done.stderr.decode()
        return list(_arrays(done.stdout))


def given_variables(variables: dict[str, str]) -> list[str]:
    """Returns qemu's arguments for the variables of its program."""
    return [argument for name, value in variables.items() for argument in ("-E", f"{name}={value}")]


def _arrays(content: bytes) -> Iterator[NDArray[np.float32]]:
    while content:
        end = 8 + 4 * int.from_bytes(content[:8], "little")
        yield np.frombuffer(content[8:end], "<f4")
        content = content[end:]
