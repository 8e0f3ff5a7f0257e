"""Checks of the native library's file: what it exports, and what it needs of its system."""

from __future__ import annotations

import re
from pathlib import Path

import lief

from exporter.compiler.link import required_libc
from exporter.compiler.targets import Target
from exporter.native.build import HEADER

DECLARED = set(re.findall(r"\b(kokoro_\w+)\(", HEADER.read_text(encoding="utf-8")))
"""The functions of `kokoro.h`."""
FOR_STAGES = {"TVMFFIErrorSetRaisedFromCStrParts"}
"""The function of tvm-ffi that compiled stages find by its name."""
_ELF_MACHINES = {"x86_64": lief.ELF.ARCH.X86_64, "aarch64": lief.ELF.ARCH.AARCH64}
_GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}


def check_elf(path: Path, target: Target) -> None:
    """Fails unless the library at `path` needs the oldest glibc of `target` and nothing else."""
    library = lief.ELF.parse(path)
    assert library is not None and library.header.machine_type == _ELF_MACHINES[target.machine]
    assert library.header.file_type == lief.ELF.Header.FILE_TYPE.DYN
    assert {str(each.name) for each in library.exported_symbols} == DECLARED | FOR_STAGES
    assert set(library.libraries) <= _GLIBC
    # Weak symbols are those of toolchains.
    needed = [each for each in library.imported_symbols if each.binding != lief.ELF.Symbol.BINDING.WEAK]
    for symbol in needed:
        version = symbol.symbol_version.symbol_version_auxiliary
        assert version is not None and version.name.startswith("GLIBC_"), symbol.name
    oldest = target.minimum_os.removeprefix("glibc ").split(".")
    assert (0, 0) < required_libc([path]) <= tuple(map(int, oldest))
    (stack,) = (each for each in library.segments if each.type == lief.ELF.Segment.TYPE.GNU_STACK)
    assert not stack.has(lief.ELF.Segment.FLAGS.X)
