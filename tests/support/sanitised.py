"""The native runtime compiled by g++ with its sanitisers: zig has no runtime of the address sanitiser.

Tests of this process use it if ``KOKORO_EXPORT_SANITISERS`` names sanitisers, such as ``address,undefined``.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from exporter import directories
from exporter.compiler.targets import find_target
from exporter.native import build

SANITISERS = os.environ.get("KOKORO_EXPORT_SANITISERS", "")
_EMBEDDED = re.compile(r'#embed "(\w+\.bin)"')


def flags(sanitisers: str = SANITISERS) -> tuple[str, ...]:
    """Returns the flags of every source."""
    if not sanitisers:
        return (*build._FLAGS, *build._OPTIMISED)
    found = (f"-fsanitize={each}" for each in sanitisers.split(","))
    return (*build._FLAGS, "-O1", "-g", "-fno-omit-frame-pointer", *found)


def compiler(sanitisers: str = SANITISERS) -> list[str]:
    """Returns the command of the compiler."""
    return ["g++"] if sanitisers else [*build._ZIG, "c++", "-target", find_target("host").zig_target]


def compiled(objects: Iterable[build._Object], sanitisers: str = SANITISERS) -> list[Path]:
    """Returns object files; what did not change since the last time comes from the user's cache."""
    if sanitisers:
        objects = map(_for_gcc, objects)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda each: build._compile(compiler(sanitisers), each), objects))


def _for_gcc(wanted: build._Object) -> build._Object:
    """Returns an object whose source g++ 12 understands, which has no ``#embed`` and more warnings."""
    flags = tuple(flag for flag in wanted.flags if flag != "-Werror")
    folder, text = wanted.source.parent, wanted.source.read_text("utf-8")
    embedded = _EMBEDDED.sub(lambda name: ",".join(map(str, (folder / name[1]).read_bytes())), text)
    if embedded == text:
        return wanted._replace(flags=flags)
    source = build._cache() / wanted.source.name
    directories.store(source, embedded.encode())
    return wanted._replace(source=source, flags=(*flags, f"-iquote{folder}"))


def build_sanitised(output: Path, sanitisers: str = SANITISERS) -> None:
    """Builds the library."""
    objects = compiled(build._objects(flags(sanitisers)), sanitisers)
    link(["-shared", *map(str, objects), *build._LINKED["linux"]], output, sanitisers)


def link(arguments: Sequence[str], output: Path, sanitisers: str = SANITISERS) -> None:
    """Links a program or a library."""
    build._run([*compiler(sanitisers), *flags(sanitisers), *arguments, "-o", str(output)])


def runtime_of(sanitiser: str) -> str:
    """Returns the path of a sanitiser's runtime, which a program without it has to load before all else."""
    command = ["g++", f"-print-file-name=lib{sanitiser}.so"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
