"""Debian's clang, which has libFuzzer and the sanitisers: zig's clang has neither, and g++ no libFuzzer.

It comes from Debian's registry into the user's cache, and nothing is installed on this machine.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from exporter import directories
from tests.support.emulation.machine import debian_packages, unpack
from tests.support.shared import filled_once

_VERSION = "19"
_OF_THE_SYSTEM = ("libc6", "lib32", "gcc-", "linux-libc-dev")
"""Beginnings of the names of packages that this machine has, as it has a compiler."""


class Clang:
    """The compiler in a directory of unpacked packages."""

    def __init__(self, place: Path) -> None:
        compiler = place / "usr" / "lib" / f"llvm-{_VERSION}" / "bin" / "clang++"
        libraries = [place / "usr" / "lib" / "x86_64-linux-gnu", compiler.parents[1] / "lib"]
        self.command = ["env", f"LD_LIBRARY_PATH={':'.join(map(str, libraries))}", str(compiler)]

    def run(self, *arguments: str | Path) -> None:
        """Compiles or links; fails with the compiler's messages."""
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def fetched_clang() -> Clang:
    """Returns clang from the user's cache, fetched if it is not there: 103 MB, 400 on the disk."""
    compilers = directories.cache() / "compilers"
    place = compilers / f"clang-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]}"
    names = (f"clang-{_VERSION}", f"libclang-rt-{_VERSION}-dev")
    return Clang(filled_once(place, lambda unfinished: _fetch(unfinished, names)))


def _fetch(place: Path, names: Sequence[str]) -> None:
    for package in debian_packages(place / "apt", "amd64", "install", names):
        if not package.name.startswith(_OF_THE_SYSTEM):
            unpack(package, place)
    shutil.rmtree(place / "apt")
