"""Linking: the object files of a compiled Relax module become one shared library.

The same objects and name give the same bytes on every run: no build id, no symbol table (TVM names its object
files after temporary directories), no time stamps.

A library finds TVM's functions in the process that loads it. ELF and Mach-O libraries name no other file for
them; a DLL must name one, that of apache-tvm-ffi, and a library for Android that of our C library. A library
also names its system's C library. zig brings that of Linux, macOS and Windows; for iOS and Android it links a
stub with a few functions. For macOS zig signs ad hoc; for iOS the app signs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from exporter.compiler.cuda import mark_compiled
from exporter.compiler.targets import Target
from exporter.errors import ExportError
from runtime_min.engine.machine import this_machine

_COMPILERS = ("cc", "gcc", "clang")
# -lm comes after the objects: linkers resolve from left to right.
_ELF = ("-Wl,--build-id=none", "-Wl,--as-needed", "-lm")
_MACH_O = ("-Wl,-undefined,dynamic_lookup", "-Wl,-dead_strip_dylibs")
_IMPORTS = """LIBRARY tvm_ffi.dll
EXPORTS
TVMFFIEnvModLookupFromImports
TVMFFIErrorSetRaisedFromCStr
TVMFFIErrorSetRaisedFromCStrParts
TVMFFIFunctionCall
"""
"""The functions of apache-tvm-ffi that compiled code calls, in the format of ``dlltool``."""
_IOS_FUNCTIONS = ("dyld_stub_binder", "_bzero", "_memcpy", "_memmove", "_memset", "_expf", "_fmodf", "_powf")
"""The functions of the C library of iOS that compiled code calls."""
_IOS_SYSTEM = """--- !tapi-tbd
tbd-version: 4
targets: [ arm64-ios ]
install-name: /usr/lib/libSystem.B.dylib
exports:
  - targets: [ arm64-ios ]
    symbols: [ {names} ]
...
"""
"""The C library of iOS, in the format of linkers."""
_ANDROID_LIBRARIES = {
    "libc.so": ("memcpy", "memmove", "memset"),
    "libm.so": ("expf", "fmodf", "powf"),
    "libkokoro.so": ("TVMFFIErrorSetRaisedFromCStrParts",),
}
"""The functions that compiled code calls, by library: there an app's own libraries are seen by name alone."""
LARGE_PAGES = "-Wl,-z,max-page-size=16384"
"""Some phones have pages of 16 KiB."""
_ANDROID = ("-nostdlib", LARGE_PAGES, "-Wl,--build-id=none", "-Wl,--as-needed")
_ZIG = (sys.executable, "-m", "ziglang")
_GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")


class LinkerMissingError(ExportError):
    """Nothing on this machine can link a library for the target."""

    exit_code = 5


class LinkError(ExportError):
    """The linker refused the objects."""

    exit_code = 7


def find_linker(target: Target) -> list[str]:
    """Returns the start of the command that links for `target`.

    This is the C compiler that ``CC`` names, else the system's, else zig's (the only one that links for
    another system than this machine's).

    Raises:
        LinkerMissingError: none of them is installed.
    """
    # A DLL needs zig's dlltool as well.
    is_host = target.fits(this_machine()) and target.system != "windows"
    if is_host:
        if os.environ.get("CC"):
            first, *rest = shlex.split(os.environ["CC"])
            return [os.path.abspath(first) if os.sep in first else first, *rest]
        for name in _COMPILERS:
            if path := shutil.which(name):
                return [path]
    if importlib.util.find_spec("ziglang") is not None:
        return [*_ZIG, "cc", "-target", target.zig_target]
    compiler = "install a C compiler (Debian, Ubuntu: apt install gcc), or " if is_host else ""
    raise LinkerMissingError(
        f"No linker for {target.name} was found: {compiler}install zig's "
        "with pip install 'kokoro-export[cross]'."
    )


def link_library(executable: Any, path: Path, target: Target) -> None:
    """Writes a compiled Relax module to `path` as a shared library.

    Args:
        executable: the result of `relax.build` (a `tvm.runtime.Executable`).
        path: file to write; a Mach-O library or DLL also contains its name.
        target: the system to link for.

    Raises:
        LinkerMissingError: no linker is installed.
        LinkError: the linker failed; its output is in the message.
    """
    linker = find_linker(target)

    def link(output: str, objects: list[str], **_: Any) -> None:
        if target.device == "cuda":
            mark_compiled(objects)
        # zig writes more than a DLL.
        with tempfile.TemporaryDirectory(prefix="kokoro-link-") as directory:
            place = Path(directory)
            if target.one_module:
                return _archive([*_ZIG, "ar"], objects, Path(output), place)
            more = _arguments(target, path.name, place)
            library = str(place / path.name)
            _run([*linker, "-O2", "-shared", "-fPIC", "-s", "-o", library, *objects, *more], place)
            shutil.copyfile(library, output)

    executable.export_library(str(path), fcompile=link)


def _archive(archiver: list[str], objects: Sequence[str], output: Path, place: Path) -> None:
    """Writes object files as an archive, of which a module is linked; they get other names."""
    names = []
    for number, each in enumerate(objects):
        names.append(f"{number}.o")
        shutil.copyfile(each, place / names[-1])
    _run([*archiver, "rcsD", "made.a", *names], place)
    shutil.copyfile(place / "made.a", output)


def _arguments(target: Target, name: str, place: Path) -> Sequence[str]:
    """Returns the arguments of a system's linker besides the objects; files that they name are in `place`."""
    if target.system == "linux":
        return _ELF
    if target.system == "windows":
        names, imports = place / "imports.def", str(place / "imports.lib")
        names.write_text(_IMPORTS)
        _run([*_ZIG, "dlltool", "-m", "i386:x86-64", "-d", str(names), "-l", imports], place)
        return (imports,)
    if target.system == "android":
        stubs = [
            link_stub(library, names, target.zig_target, place)
            for library, names in _ANDROID_LIBRARIES.items()
        ]
        return (*_ANDROID, *stubs, f"-Wl,-soname,{name}")
    own_system = link_ios_system(_IOS_FUNCTIONS, place) if target.system == "ios" else ()
    return (*own_system, *_MACH_O, f"-Wl,-install_name,@rpath/{name}")


def link_ios_system(functions: Iterable[str], place: Path) -> tuple[str, ...]:
    """Returns the arguments that link a C library of iOS with no other functions; its file is in `place`."""
    system = place / "libSystem.tbd"
    system.write_text(_IOS_SYSTEM.format(names=", ".join(f"'{name}'" for name in functions)))
    return ("-nostdlib", str(system))


def link_stub(name: str, functions: Iterable[str], zig_target: str, place: Path) -> str:
    """Links an ELF library in `place` that has `functions` in name only, and returns its path."""
    source, library = place / f"{name}.s", str(place / name)
    source.write_text("".join(f".globl {each}\n.type {each}, %function\n{each}:\n" for each in functions))
    linked = ("-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", library)
    _run([*_ZIG, "cc", "-target", zig_target, str(source), *linked], place)
    return library


def required_libc(libraries: Iterable[Path]) -> tuple[int, int]:
    """Returns the newest glibc whose symbols `libraries` import; (0, 0) where they import none.

    A system's own linker binds to the newest version of a function that its glibc has, so a library
    linked on a recent system may need more than the target's table says.
    """
    return max(
        (
            (int(major), int(minor))
            for library in libraries
            for major, minor in _GLIBC.findall(library.read_bytes())
        ),
        default=(0, 0),
    )


def minimum_os(target: Target, libraries: Iterable[Path]) -> str:
    """Returns the oldest system on which `libraries` load, at least that of the table."""
    system, _, version = target.minimum_os.partition(" ")
    if system != "glibc":
        return target.minimum_os
    major, minor = map(int, version.split("."))
    newest = max((major, minor), required_libc(libraries))
    return f"glibc {newest[0]}.{newest[1]}"


def linker_version(command: Sequence[str]) -> str:
    """Returns the first lines of the versions that a C compiler and its linker print."""
    lines = []
    for option in ("--version", "-Wl,--version"):
        # zig writes an empty a.o into the working directory for some systems, and fails where it cannot.
        with tempfile.TemporaryDirectory(prefix="kokoro-link-") as directory:
            try:
                done = subprocess.run(
                    [*command, option], cwd=directory, capture_output=True, text=True, errors="replace"
                )
            except OSError:
                continue
        if done.returncode == 0:
            lines.append(done.stdout.strip().partition("\n")[0])
    return "; ".join(filter(None, lines)) or "unknown"


def _run(command: list[str], directory: Path) -> None:
    # The time that is written into a DLL.
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    try:
        done = subprocess.run(
            command, cwd=directory, env=variables, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise LinkerMissingError(
            f"The linker {command[0]!r} does not start ({error}): correct or unset the variable CC."
        ) from error
    if done.returncode != 0:
        raise LinkError(
            f"The linker ended with status {done.returncode}: {shlex.join(command)}\n"
            f"{(done.stdout + done.stderr).strip()}"
        )
