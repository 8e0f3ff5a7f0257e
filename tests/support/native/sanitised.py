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
from exporter.native import build

SANITISERS = os.environ.get("KOKORO_EXPORT_SANITISERS", "")
_LIFETIMES = (
    *("kokoro.cpp", "kokoro_live.cpp", "interface.cpp", "live.cpp", "handles.cpp", "bundle.cpp"),
    *("base/threads.cpp", "speech/stream.cpp"),
    *("engine/vm.cpp", "engine/stage_runner.cpp"),
)
PARTLY = "detect_container_overflow=0"
"""Option of the address sanitiser: parts without it leave the marks of containers as they are."""
_COPIES_APART = ("-mllvm", "-tsan-instrument-memintrinsics=0")
_EMBEDDED = re.compile(r'#embed "([\w./]+\.bin)"')


def flags(sanitisers: str = SANITISERS) -> tuple[str, ...]:
    """Returns the flags of every source."""
    if not sanitisers:
        return (*build.FLAGS, *build.OPTIMISED)
    found = (f"-fsanitize={each}" for each in sanitisers.split(","))
    return (*build.FLAGS, "-O1", "-g", "-fno-omit-frame-pointer", *found)


def compiler(sanitisers: str = SANITISERS) -> list[str]:
    """Returns the command of the compiler."""
    return ["g++"] if sanitisers else [*build.ZIG, "c++", "-target", find_target("host").zig_target]


def compiled(objects: Iterable[build.Source], sanitisers: str = SANITISERS) -> list[Path]:
    """Returns object files; unchanged ones come from the user's cache."""
    if sanitisers:
        objects = map(for_another_compiler, objects)
    return build.compile_all(compiler(sanitisers), objects)


def for_another_compiler(wanted: build.Source) -> build.Source:
    """Returns an object without ``#embed``, which zig's clang alone understands, and with more warnings."""
    flags = tuple(flag for flag in wanted.flags if flag != "-Werror")
    folder, text = wanted.path.parent, wanted.path.read_text("utf-8")
    embedded = _EMBEDDED.sub(lambda name: ",".join(map(str, (folder / name[1]).read_bytes())), text)
    if embedded == text:
        return wanted._replace(flags=flags)
    source = build._cache() / wanted.path.name
    directories.store(source, embedded.encode())
    return wanted._replace(path=source, flags=(*flags, f"-iquote{folder}"))


def build_sanitised(output: Path, sanitisers: str = SANITISERS) -> None:
    """Builds the library."""
    objects = compiled(build.library_sources(flags(sanitisers)), sanitisers)
    link(["-shared", *map(str, objects), *build._LINKED["linux"]], output, sanitisers)


def build_partly(output: Path, sanitiser: str) -> None:
    """Builds the library that ships, with the parts that decide how long a bundle lives for a sanitiser.

    zig's clang compiles them; a program that uses the library brings g++'s runtime of the sanitiser.
    """
    # g++ 12's runtime has no functions of its own for copies.
    flag = {"address": ("-fsanitize=address",), "thread": ("-fsanitize=thread", *_COPIES_APART)}[sanitiser]
    parts = {build.SOURCES / name for name in _LIFETIMES}
    objects = [
        each._replace(flags=(*each.flags, *flag, "-g")) if each.path in parts else each
        for each in build.library_sources(flags(""))
    ]
    assert parts <= {each.path for each in objects}
    linked = ["-shared", *map(str, compiled(objects, "")), *build._LINKED["linux"], "-Wl,-z,undefs"]
    link(linked, output, "")


def link(arguments: Sequence[str], output: Path, sanitisers: str = SANITISERS) -> None:
    """Links a program or a library."""
    build.run([*compiler(sanitisers), *flags(sanitisers), *arguments, "-o", str(output)])


def runtime_of(sanitiser: str) -> str:
    """Returns the path of a sanitiser's runtime, which a program without it has to load before all else."""
    command = ["g++", f"-print-file-name=lib{sanitiser}.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
