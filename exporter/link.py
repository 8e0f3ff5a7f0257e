"""Linking: the object files of a compiled Relax module become one shared library.

The same objects give the same bytes on every run: no build id, no symbol table (TVM names its object
files after temporary directories), no time stamps.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exporter.errors import ExportError
from exporter.targets import Target
from runtime_min.platform import this_machine

_COMPILERS = ("cc", "gcc", "clang")
_REPRODUCIBLE = ("-s", "-Wl,--build-id=none", "-Wl,--as-needed")
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
    is_host = target.fits(this_machine())
    if is_host:
        if os.environ.get("CC"):
            return shlex.split(os.environ["CC"])
        for name in _COMPILERS:
            if path := shutil.which(name):
                return [path]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", target.zig_target]
    compiler = "install a C compiler (Debian, Ubuntu: apt install gcc), or " if is_host else ""
    raise LinkerMissingError(
        f"No linker for {target.name} was found: {compiler}install zig's "
        "with pip install 'kokoro-export[cross]'."
    )


def link_library(executable: Any, path: Path, target: Target) -> None:
    """Writes a compiled Relax module to `path` as a shared library.

    Args:
        executable: what `relax.build` returned (a `tvm.runtime.Executable`).
        path: file to write.
        target: the system to link for.

    Raises:
        LinkerMissingError: no linker is installed.
        LinkError: the linker failed; its output is in the message.
    """
    command = find_linker(target)

    def link(output: str, objects: list[str], **_: Any) -> None:
        # -lm comes after the objects: linkers resolve from left to right.
        _run([*command, "-shared", "-fPIC", "-o", output, *objects, *_REPRODUCIBLE, "-lm"])

    executable.export_library(str(path), fcompile=link)


def required_libc(libraries: Iterable[Path]) -> tuple[int, int]:
    """Returns the newest glibc whose symbols one of `libraries` asks for; (0, 0) where none does.

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


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise LinkerMissingError(
            f"The linker {command[0]!r} does not start ({error}): correct or unset the variable CC."
        ) from error
    if done.returncode != 0:
        raise LinkError(
            f"The linker ended with status {done.returncode}: {shlex.join(command)}\n"
            f"{(done.stdout + done.stderr).strip()}"
        )
