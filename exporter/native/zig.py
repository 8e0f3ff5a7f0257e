"""Compiles C and C++ with zig; object files are kept in the user's cache by what they are made from."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from exporter import directories
from exporter.compiler.link import LinkerMissingError, LinkError
from runtime_min.threads import usable_cores

ROOT = Path(__file__).resolve().parents[2]
ZIG = (sys.executable, "-m", "ziglang")
OPTIMISED = ("-Os", "-fno-sanitize=all")
STAND_INS = Path(__file__).parent / "stand_ins"
"""Headers that no package has."""


class Unit(NamedTuple):
    """Sources that are compiled together: the compiler reads one file, which includes all of them.

    Their headers, and the code that templates become, are compiled once: that takes a third of the time that
    the same sources take one by one. So a name that is private to a source is unique in its folder.
    """

    paths: tuple[Path, ...]
    flags: tuple[str, ...]
    facts: str
    """All that decides the bytes, besides the sources and the flags."""


def compile_all(compiler: list[str], wanted: Iterable[Unit]) -> list[Path]:
    """Returns object files in the cache, and compiles those that are missing."""
    directories.make_private(cache())
    # The largest come first, so that no core waits for one of them at the end.
    units = sorted(wanted, key=lambda unit: -sum(path.stat().st_size for path in unit.paths))
    with ThreadPoolExecutor(len(usable_cores())) as pool:
        return list(pool.map(lambda each: _compile(compiler, each), units))


def by_folder(paths: Iterable[Path], flags: tuple[str, ...], facts: str) -> Iterator[Unit]:
    """Yields a unit for each folder."""
    for _, group in groupby(sorted(paths, key=lambda path: (path.parent, path)), lambda path: path.parent):
        yield Unit(tuple(group), flags, facts)


def hashed(paths: Iterable[Path]) -> str:
    """Returns the SHA-256 of the paths and contents of files of this project."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _compile(compiler: list[str], unit: Unit) -> Path:
    """Returns the object file of a unit, from the cache if it is there."""
    # Messages of errors have the names of sources, but no directories of this machine.
    places = {str(package_directory("tvm").parent): "", str(ROOT): ""}
    mapped = [f"-ffile-prefix-map={place}/=" for place in places]
    flags = [_without(flag, places) for flag in unit.flags]
    contents = [
        (_without(str(path), places), hashlib.sha256(path.read_bytes()).hexdigest()) for path in unit.paths
    ]
    key = json.dumps([compiler[-1], flags, unit.facts, contents])
    stored = cache() / f"{hashlib.sha256(key.encode()).hexdigest()}.o"
    # Two processes that build the same at once would compile everything twice.
    with FileLock(stored.with_suffix(".lock")):
        if directories.read_stored(stored) is None:
            with tempfile.TemporaryDirectory(prefix="kokoro-native-") as place:
                made = Path(place, "made.o")
                source = _written(unit, Path(place))
                run([*compiler, *unit.flags, *mapped, "-c", str(source), "-o", str(made)])
                directories.store(stored, made.read_bytes())
    return stored


def _written(unit: Unit, place: Path) -> Path:
    """Returns the file that includes all sources of a unit, or its one source."""
    if len(unit.paths) == 1:
        return unit.paths[0]
    together = place / "unit.cpp"
    together.write_text("".join(f'#include "{path}"\n' for path in unit.paths), encoding="utf-8")
    return together


def members(archives: Iterable[Path], place: Path) -> list[Path]:
    """Takes the object files of archives out into directories in `place`.

    A library of stages registers itself before anything calls it, so a linker would leave out an archive.
    """
    found: list[Path] = []
    for number, archive in enumerate(archives):
        folder = place / str(number)
        folder.mkdir()
        run([*ZIG, "ar", "x", f"--output={folder}", str(archive)])
        found += sorted(folder.glob("*.o"))
    return found


def cache() -> Path:
    """Returns the directory of object files."""
    return directories.cache() / "native"


def _without(flag: str, places: Iterable[str]) -> str:
    """Returns a flag without the directories of this machine, which decide nothing."""
    for place in places:
        flag = flag.replace(place, "")
    return flag


def package_directory(name: str) -> Path:
    """Returns the directory of an installed package, which is not imported."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise LinkerMissingError(
            f"The package {name} is missing: install kokoro-export with its dependencies."
        )
    return Path(found.origin).parent


def run(command: list[str]) -> None:
    """Runs zig.

    Raises:
        LinkError: it failed; its output is in the message.
    """
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", env=_environment()
    )
    if done.returncode != 0:
        raise LinkError(
            f"zig ended with status {done.returncode}: {shlex.join(command)}\n"
            f"{(done.stdout + done.stderr).strip()}"
        )


def _environment() -> dict[str, str]:
    return {**os.environ, "SOURCE_DATE_EPOCH": "0"}
