"""macOS on this machine: qemu's user mode, with a loader of Mach-O files and a C library of Darwin's form.

The loader and the stand-in for macOS's C library are one program for Linux on aarch64, `darwin/`. The numbers
of Darwin's headers, such as those of errors and flags, are read from zig's copy of them. What unwinds the
stack for exceptions is LLVM's libunwind, from which macOS's own is made: it is compiled for macOS from zig's
sources and loaded like any library.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from exporter import directories
from exporter.compiler.targets import find_target
from exporter.native.build import HEADER, build_library, library_name
from exporter.native.zig import ZIG, package_directory
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.speaking import PROGRAM, SpeakingMachine, given_variables
from tests.support.shared import filled_once

_SOURCES = Path(__file__).with_name("darwin")
_FACTS = "facts.c"
_FACT = re.compile(r"^\s*; fact (\w+) (-?\d+)$", re.MULTILINE)
_MACOS = find_target("macos-arm64")
_DARWIN = (*ZIG, "cc", "-target", _MACOS.zig_target, "-fno-sanitize=all")
_LINUX = (*ZIG, "cc", "-target", "aarch64-linux-musl", "-static", "-O2", "-fno-sanitize=all")
_LINUX_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_UNWINDING = (
    *("libunwind.cpp", "-x", "c", "UnwindLevel1.c", "UnwindLevel1-gcc-ext.c"),
    *("-x", "assembler-with-cpp", "UnwindRegistersSave.S", "UnwindRegistersRestore.S"),
)
"""Sources of libunwind, after the options that say their languages."""


@dataclass(frozen=True)
class Mac(SpeakingMachine):
    """An emulated processor with the loader, and a program of macOS that calls a C library beside it."""

    processor: EmulatedMachine
    system: Path
    """Has the loader and libunwind."""
    program: Path

    def command(self, *arguments: str | Path, **more: str) -> list[str]:
        """Starts the program; the variables MACOS, FEATURE, LOCAL and UNPROVIDED are the loader's."""
        loader = [self.system / "darwin", self.system / "libunwind.dylib", self.program]
        return [self.processor.emulator[0], *given_variables(more), *map(str, (*loader, *arguments))]

    def with_program(self, source: Path, library: Path, *before: Path) -> Mac:
        """Returns the machine with another program, which is compiled beside the C library.

        Args:
            source: of the program.
            library: the C library.
            before: libraries in the same folder that are loaded before it.
        """
        program = library.parent / source.stem
        language = "c++" if source.suffix == ".cpp" else "cc"
        compiler = [language if part == "cc" else part for part in _DARWIN]
        paths = ("-I", HEADER.parent, source, *before, library, "-Wl,-rpath,@loader_path", "-o", program)
        _run([*compiler, "-O2", "-Wall", "-Werror"], *paths)
        return Mac(self.processor, self.system, program)


def build_dylib(source: Path, place: Path) -> Path:
    """Compiles a library for macOS from C and returns it."""
    made = place / source.with_suffix(".dylib").name
    _run([*_DARWIN, "-shared", "-O2", f"-Wl,-install_name,@rpath/{made.name}"], source, "-o", made)
    return made


def made_mac(processor: EmulatedMachine, library: Path, place: Path) -> Mac:
    """Returns a machine with a C library for macOS, which a program in `place` is linked to."""
    contents = b"".join(path.read_bytes() for path in sorted(_SOURCES.iterdir()))
    recipe = hashlib.sha256(contents + Path(__file__).read_bytes()).hexdigest()
    system = filled_once(directories.cache() / "machines" / f"macos-{recipe[:16]}", _make)
    copy = place / library.name
    copy.write_bytes(library.read_bytes())
    return Mac(processor, system, place).with_program(PROGRAM, copy)


def made_phone(processor: EmulatedMachine, framework: Path, place: Path) -> Mac:
    """Returns a machine whose program is linked to the C library, and finds the one of a framework for iOS.

    Args:
        processor: the emulated processor.
        framework: the module of a bundle for iOS.
        place: the program's directory.
    """
    linked = place / "linked" / library_name(_MACOS)
    linked.parent.mkdir()
    build_library(_MACOS, linked)
    made = made_mac(processor, linked, place)
    shutil.copyfile(framework, place / linked.name)
    return made


def _make(system: Path) -> None:
    (system / "facts.h").write_text(_facts(system / "facts.s"), encoding="utf-8")
    sources = [path for path in _SOURCES.iterdir() if path.suffix in (".c", ".S") and path.name != _FACTS]
    _run([*_LINUX, *_LINUX_WARNINGS], "-I", system, *sorted(sources), "-o", system / "darwin")
    libunwind = package_directory("ziglang") / "lib" / "libunwind"
    parts = [libunwind / "src" / each if "." in each else each for each in _UNWINDING]
    options = ("-shared", "-Os", "-w", "-DNDEBUG", "-fno-exceptions", "-fno-rtti", "-nostdlib++")
    compiler = ["c++" if part == "cc" else part for part in _DARWIN]
    _run(
        [*compiler, *options, "-funwind-tables"],
        *("-I", libunwind / "include", *parts, "-o", system / "libunwind.dylib"),
    )


def _facts(assembler: Path) -> str:
    """Returns a header with the numbers that `facts.c` asks Darwin's headers for."""
    _run([*_DARWIN, "-O1", "-S"], _SOURCES / _FACTS, "-o", assembler)
    found = _FACT.findall(assembler.read_text(encoding="utf-8"))
    assert found, "zig wrote no facts"
    return "#pragma once\n" + "".join(f"#define DARWIN_{name} {value}\n" for name, value in found)


def _run(command: list[str], *arguments: str | Path) -> None:
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
