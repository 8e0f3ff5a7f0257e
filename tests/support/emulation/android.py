"""Android on this machine: qemu's user mode, with musl and `bionic.c` in the place of Android's C library."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exporter import directories
from exporter.native.android import ZIG_TARGET
from exporter.native.build import HEADER
from tests.support.emulation.machine import EmulatedMachine, debian_packages, unpack
from tests.support.shared import filled_once

_SOURCE = Path(__file__).with_name("bionic.c")
_PROGRAM = Path(__file__).with_name("speak.c")
_COMPILER = (
    *(sys.executable, "-m", "ziglang", "cc", "-target", ZIG_TARGET, "-dynamic", "-O2"),
    "-Wall",
    "-Werror",
)


class Request(NamedTuple):
    """What an app asks the C library for."""

    mode: str
    """``text``, ``phonemes`` or ``stream``, which is of phonemes."""
    voice: str
    speed: float
    seed: int
    input: str


@dataclass(frozen=True)
class Android:
    """An emulated processor with the stand-in, and a program that calls a C library."""

    processor: EmulatedMachine
    system: Path
    """The root of its file system."""
    program: Path

    def start(
        self, bundle: Path, requests: Sequence[Request], threads: int = 1, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs the program, with the C library in its folder and variables, to the end."""
        variables = {
            "LD_LIBRARY_PATH": self.program.parent,
            "LD_PRELOAD": self.system / "lib" / "bionic.so",
            **more,
        }
        given = [argument for name, value in variables.items() for argument in ("-E", f"{name}={value}")]
        asked = [str(argument) for request in requests for argument in request]
        command = [self.processor.emulator[0], "-L", str(self.system), *given, str(self.program), str(bundle)]
        path = {"PATH": os.environ["PATH"]}
        return subprocess.run([*command, str(threads), *asked], env=path, capture_output=True)

    def speak(
        self, bundle: Path, requests: Sequence[Request], threads: int = 1, **more: str
    ) -> list[NDArray[np.float32]]:
        """Returns the samples of each request."""
        done = self.start(bundle, requests, threads, **more)
        assert done.returncode == 0, done.stderr.decode()
        return list(_arrays(done.stdout))


def _arrays(content: bytes) -> Iterator[NDArray[np.float32]]:
    while content:
        end = 8 + 4 * int.from_bytes(content[:8], "little")
        yield np.frombuffer(content[8:end], "<f4")
        content = content[end:]


def made_android(processor: EmulatedMachine, library: Path, place: Path) -> Android:
    """Returns a machine with a C library for Android, which is linked into a program in `place`."""
    machines = directories.cache() / "machines"
    recipe = hashlib.sha256(_SOURCE.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    system = filled_once(machines / f"android-{recipe[:16]}", _fetch)
    (place / library.name).write_bytes(library.read_bytes())
    program = place / "speak"
    _compile("-I", HEADER.parent, _PROGRAM, place / library.name, "-o", program)
    return Android(processor, system, program)


def _fetch(system: Path) -> None:
    (musl,) = debian_packages(system / "apt", "arm64", "download", ("musl",))
    unpack(musl, system)
    _compile("-shared", "-fPIC", _SOURCE, "-o", system / "lib" / "bionic.so")


def _compile(*arguments: str | Path) -> None:
    done = subprocess.run(
        [*_COMPILER, "-fno-sanitize=all", *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
