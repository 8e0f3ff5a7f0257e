"""Android on this machine: qemu's user mode, with musl and `bionic.c` in the place of Android's C library."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from exporter import directories
from exporter.native.android import ZIG_TARGET
from exporter.native.build import HEADER
from tests.support.emulation.machine import EmulatedMachine, debian_packages, unpack
from tests.support.emulation.speaking import PROGRAM, SpeakingMachine, given_variables
from tests.support.shared import filled_once

_SOURCE = Path(__file__).with_name("bionic.c")
_COMPILER = (
    *(sys.executable, "-m", "ziglang", "cc", "-target", ZIG_TARGET, "-dynamic", "-O2"),
    "-Wall",
    "-Werror",
)


@dataclass(frozen=True)
class Android(SpeakingMachine):
    """An emulated processor with the stand-in, and a program that calls a C library."""

    processor: EmulatedMachine
    system: Path
    """The root of its file system."""
    program: Path

    def command(self, *arguments: str | Path, **more: str) -> list[str]:
        """Has the C library in the program's folder."""
        variables = {
            "LD_LIBRARY_PATH": str(self.program.parent),
            "LD_PRELOAD": str(self.system / "lib" / "bionic.so"),
            **more,
        }
        qemu = [self.processor.emulator[0], "-L", str(self.system), *given_variables(variables)]
        return [*qemu, str(self.program), *map(str, arguments)]


def made_android(processor: EmulatedMachine, library: Path, place: Path) -> Android:
    """Returns a machine with a C library for Android, which is linked into a program in `place`."""
    machines = directories.cache() / "machines"
    recipe = hashlib.sha256(_SOURCE.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    system = filled_once(machines / f"android-{recipe[:16]}", _fetch)
    (place / library.name).write_bytes(library.read_bytes())
    program = place / "speak"
    _compile("-I", HEADER.parent, PROGRAM, place / library.name, "-o", program)
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
