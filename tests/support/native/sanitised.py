"""The native runtime compiled by g++ with its sanitisers: zig has no runtime of the address sanitiser.

Tests of this process use it if ``KOKORO_EXPORT_SANITISERS`` names sanitisers, such as ``address,undefined``.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from exporter import directories
from exporter.compiler.targets import find_target
from exporter.native import build, zig

SANITISERS = os.environ.get("KOKORO_EXPORT_SANITISERS", "")
_LIFETIMES = {build.SOURCES / name for name in (".", "base", "engine", "speech")}
"""Folders of the sources that decide how long a bundle lives."""
PARTLY = "detect_container_overflow=0"
"""Option of the address sanitiser: parts without it leave the marks of containers as they are."""
_COPIES_APART = ("-mllvm", "-tsan-instrument-memintrinsics=0")
_EMBEDDED = re.compile(r'#embed "([\w./]+\.bin)"')


def flags(sanitisers: str = SANITISERS) -> tuple[str, ...]:
    """Returns the flags of every source."""
    if not sanitisers:
        return (*build.FLAGS, *zig.OPTIMISED)
    found = (f"-fsanitize={each}" for each in sanitisers.split(","))
    return (*build.FLAGS, "-O1", "-g", "-fno-omit-frame-pointer", *found)


def compiler(sanitisers: str = SANITISERS) -> list[str]:
    """Returns the command of the compiler."""
    return ["g++"] if sanitisers else [*zig.ZIG, "c++", "-target", find_target("host").zig_target]


def compiled(units: Iterable[zig.Unit], sanitisers: str = SANITISERS) -> list[Path]:
    """Returns object files; unchanged ones come from the user's cache."""
    if sanitisers:
        units = (for_another_compiler(unit, path) for unit in units for path in unit.paths)
    return zig.compile_all(compiler(sanitisers), units)


def for_another_compiler(unit: zig.Unit, path: Path) -> zig.Unit:
    """Returns one source, which shows a missing include, with more warnings.

    It has no ``#embed``, which zig's clang alone understands.
    """
    flags = tuple(flag for flag in unit.flags if flag != "-Werror")
    folder, text = path.parent, path.read_text("utf-8")
    embedded = _EMBEDDED.sub(lambda name: ",".join(map(str, (folder / name[1]).read_bytes())), text)
    if embedded == text:
        return unit._replace(paths=(path,), flags=flags)
    source = zig.cache() / path.name
    directories.store(source, embedded.encode())
    return unit._replace(paths=(source,), flags=(*flags, f"-iquote{folder}"))


def build_sanitised(output: Path, sanitisers: str = SANITISERS) -> None:
    """Builds the library."""
    objects = compiled(build.library_units(flags(sanitisers)), sanitisers)
    link(["-shared", *map(str, objects), *build._LINKED["linux"]], output, sanitisers)


def build_partly(output: Path, sanitiser: str) -> None:
    """Builds the library that ships, with the parts that decide how long a bundle lives for a sanitiser.

    zig's clang compiles them, without optimisation, which takes half as long again; a program that uses the
    library brings g++'s runtime of the sanitiser.
    """
    # g++ 12's runtime has no functions of its own for copies.
    flags_of = {"address": ("-fsanitize=address",), "thread": ("-fsanitize=thread", *_COPIES_APART)}
    added = (*flags_of[sanitiser], "-O0", "-g1")
    units = [
        each._replace(flags=(*each.flags, *added)) if each.paths[0].parent in _LIFETIMES else each
        for each in build.library_units(flags(""))
    ]
    objects = compiled(units, "")
    link(["-shared", *map(str, objects), *build._LINKED["linux"], "-Wl,-z,undefs"], output, "")


def link(arguments: Sequence[str], output: Path, sanitisers: str = SANITISERS) -> None:
    """Links a program or a library, with the C++ library."""
    cxx: list[str] = []
    if not sanitisers:
        host = find_target("host")
        cxx = [*map(str, compiled(build.cxx_library(host), "")), *build.without_own_cxx(host)]
    zig.run([*compiler(sanitisers), *flags(sanitisers), *arguments, *cxx, "-o", str(output)])


def runtime_of(sanitiser: str) -> str:
    """Returns the path of a sanitiser's runtime, which a program without it has to load before all else."""
    command = ["g++", f"-print-file-name=lib{sanitiser}.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
