"""Swift's compiler for Linux, from the Debian release that has it, and a place where its programs run.

It comes from Debian's registry into the user's cache, and nothing is installed on this machine. Its C library
is newer than this machine's, so the compiler and its programs run with the packages' directory as their root.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from exporter import directories
from exporter.native.bindings import SWIFT
from exporter.native.build import HEADER
from tests.support.emulation.machine import debian_packages, unpack
from tests.support.shared import filled_once

_RELEASE = "trixie"
_PACKAGES = ("swiftlang", "libc6-dev", "libstdc++-14-dev")
_LEFT_OUT = tuple(f"--exclude=*{part}*" for part in ("lldb", "sourcekit", "swift_static", "libLTO", "docc"))
"""Half of the gigabytes: what no program is compiled with."""
_LIBRARIES = "/usr/libexec/swift/lib/swift/linux"
_FLAGS = ("-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-Xlinker", "-rpath=$ORIGIN")
_MODULE_MAP = f"""module Kokoro {{
    header "{HEADER.name}"
    link "kokoro"
    export *
}}
"""


class Swift:
    """The compiler in a directory of unpacked packages."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def command(self, place: Path, program: str, *seen: Path) -> list[object]:
        """Returns the beginning of a command that runs a program with a directory as its working directory.

        Args:
            place: the directory, which is ``/work`` there.
            program: its path there.
            seen: directories that it sees under the same paths.
        """
        mounts = {Path("/proc"): "proc", Path("/dev"): "dev", place: "work"}
        mounts |= {each: str(each).lstrip("/") for each in seen}
        binds = []
        for path, name in mounts.items():
            (self._root / name).mkdir(parents=True, exist_ok=True)
            binds.append(shlex.join(["mount", "--rbind", str(path), str(self._root / name)]))
        start = shlex.join(["unshare", f"--root={self._root}", "--wd=/work", program])
        script = f'{" && ".join(binds)} && exec {start} "$@"'
        variables = ["env", f"LD_LIBRARY_PATH={_LIBRARIES}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        return [*variables, "unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]

    def compile(self, place: Path, *arguments: str) -> None:
        """Compiles with `place` as the working directory; fails with the compiler's messages."""
        command = [*self.command(place, "/usr/bin/swiftc"), *_FLAGS, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def compiled_package(swift: Swift, place: Path, library: Path) -> None:
    """Compiles the package with a C library in `place`, and its example and its checks as programs."""
    shutil.copytree(SWIFT, place / "package")
    shutil.copy(library, place / "libkokoro.so")
    (place / "headers").mkdir()
    shutil.copy(HEADER, place / "headers")
    (place / "headers" / "module.modulemap").write_text(_MODULE_MAP, encoding="utf-8")
    linked = ("-I", "headers", "-I", ".", "-L", ".")
    made = ("-emit-library", "-emit-module", "-emit-module-path", "KokoroBundle.swiftmodule")
    sources = [
        str(path.relative_to(place)) for path in sorted((place / "package" / "Sources").rglob("*.swift"))
    ]
    named = ("-module-name", "KokoroBundle", "-o", "libKokoroBundle.so")
    swift.compile(place, *made, *named, *linked, *sources)
    for path in (*(place / "package" / "Examples").iterdir(), *(place / "package" / "Tests").iterdir()):
        source = str(path.relative_to(place))
        swift.compile(place, *linked, "-lKokoroBundle", "-lkokoro", source, "-o", path.stem)


def fetched_swift() -> Swift:
    """Returns Swift from the user's cache, fetched if it is not there: 550 MB, 1.6 GB on the disk."""
    recipe = hashlib.sha256(repr((_RELEASE, _PACKAGES, _LEFT_OUT)).encode()).hexdigest()
    place = directories.cache() / "compilers" / f"swift-{recipe[:16]}"
    return Swift(filled_once(place, lambda unfinished: _fetch(unfinished, _PACKAGES)))


def _fetch(root: Path, names: Sequence[str]) -> None:
    for package in debian_packages(root / "apt", "amd64", "install", names, release=_RELEASE):
        unpack(package, root, *_LEFT_OUT)
    shutil.rmtree(root / "apt")
    # A package that is not needed otherwise has these links.
    for name in ("bin", "lib", "lib64", "sbin"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").mkdir(exist_ok=True)
