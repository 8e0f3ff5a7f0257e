"""Builds libkokoro with zig: ``python -m exporter.native.build --target linux-aarch64 --output DIRECTORY``.

The library has TVM's runtime and tvm-ffi inside, compiled from the sources in their wheels, and needs nothing
but the system's C library. Equal sources, versions and targets give equal bytes. Object files are kept in the
user's cache by what they are made from.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from exporter import directories
from exporter.compiler.link import LinkerMissingError, LinkError
from exporter.compiler.targets import Target, find_target
from runtime_min import __version__
from runtime_min.threads import usable_cores

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent / "sources"
"""`runtime_native`: a link to it in a checkout, the files themselves in a wheel."""
HEADER = SOURCES / "include" / "kokoro.h"
LIBRARY = "libkokoro.so"
"""The library's name on Linux."""
TARGETS = ("linux-x86_64", "linux-aarch64", "macos-arm64", "web")
"""Targets for which zig links the library; for the web it is a part of the module (`web_module`)."""
_NAMES = {"linux": LIBRARY, "macos": "libkokoro.dylib"}
_STAND_INS = Path(__file__).parent / "stand_ins"
_EXPORTED = Path(__file__).parent / "exported.map"
ZIG = (sys.executable, "-m", "ziglang")
_TVM = (
    *("cpu_device_api", "device_api", "file_utils", "logging", "memory/memory_manager", "module", "tensor"),
    *(
        "thread_pool",
        "threading_backend",
        "vm/builtin",
        "vm/bytecode",
        "vm/executable",
        "vm/vm",
        "workspace_pool",
    ),
)
"""Sources of TVM's runtime without which a stage's library does not run, in ``tvm/src/runtime``."""
_TVM_FFI = (
    *("backtrace", "container", "custom_allocator", "dtype", "error", "extra/env_c_api", "extra/env_context"),
    *("extra/json_parser", "extra/json_writer", "extra/library_module"),
    *("extra/module", "function", "init_once", "object", "tensor"),
)
"""The same of tvm-ffi, in ``tvm_ffi/src/ffi``."""
FLAGS = (
    *("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-pthread"),
    *("-ffunction-sections", "-fdata-sections", "-DNDEBUG", "-DKOKORO_BUILD"),
    # Products and sums are rounded apart, as numpy does.
    *("-ffp-contract=off", "-fno-math-errno"),
    # A crash is the app's to report.
    *("-DTVM_FFI_USE_LIBBACKTRACE=0", "-DTVM_FFI_BACKTRACE_ON_SEGFAULT=0"),
)
OPTIMISED = ("-Os", "-fno-sanitize=all")
_OWN_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
_HIDDEN = tuple(
    f"-D{name}{end}=" for name in ("TVM_FFI_DLL", "TVM_RUNTIME_DLL", "TVM_DLL") for end in ("", "_EXPORT")
)
"""Keeps TVM's functions from being exported where zig's linker takes no list of what is."""
_VISIBLE = "error"
"""The source of tvm-ffi with the function that compiled stages find by its name."""
_LINKED = {
    "linux": (
        *("-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,now", "-Wl,-z,nodelete", "-ldl", "-lm"),
        *(f"-Wl,--version-script={_EXPORTED}", f"-Wl,-soname,{LIBRARY}"),
    ),
    "macos": ("-Wl,-dead_strip", "-Wl,-dead_strip_dylibs", f"-Wl,-install_name,@rpath/{_NAMES['macos']}"),
}


class Unit(NamedTuple):
    """Sources that are compiled together: the compiler reads one file, which includes all of them.

    Their headers, and the code that templates become, are compiled once: that takes a third of the time that
    the same sources take one by one. So a name that is private to a source is unique in its folder.
    """

    paths: tuple[Path, ...]
    flags: tuple[str, ...]
    facts: str
    """All that decides the bytes, besides the sources and the flags."""


def library_name(target: Target) -> str:
    """Returns the name of the library's file."""
    return _NAMES[target.system]


def require_compiler(target: Target) -> None:
    """Refuses a target for which the library cannot be built here.

    Raises:
        LinkerMissingError: zig or the sources are missing, or zig links no such library.
    """
    if target.name not in TARGETS:
        raise LinkerMissingError(
            f"There is no C library for {target.name}: expected one of {', '.join(TARGETS)}."
        )
    if not HEADER.is_file():
        raise LinkerMissingError(
            f"The sources of the C library are not at {SOURCES}: install kokoro-export again, or in a "
            "checkout make that a link to runtime_native."
        )
    if importlib.util.find_spec("ziglang") is None:
        raise LinkerMissingError(
            "The C library needs zig: install it with pip install 'kokoro-export[cross]', or export with "
            "--no-native."
        )


def build_library(target: Target, output: Path) -> None:
    """Builds the library and writes it to `output`.

    Args:
        target: one of `TARGETS`.
        output: file to write.

    Raises:
        LinkerMissingError: zig is not installed, or links no such library.
        LinkError: the compiler or the linker failed.
    """
    require_compiler(target)
    compiler = [*ZIG, "c++", "-target", target.zig_target]
    flags = (*FLAGS, *(_HIDDEN if target.system == "macos" else ()), *OPTIMISED)
    objects = compile_all(compiler, library_units(flags))
    with tempfile.TemporaryDirectory(prefix="kokoro-native-") as place:
        made = Path(place, library_name(target))
        arguments = [*OPTIMISED, "-shared", "-s", "-o", str(made), *map(str, objects)]
        run([*compiler, *arguments, *_LINKED[target.system]])
        shutil.copyfile(made, output)


def compile_all(compiler: list[str], wanted: Iterable[Unit]) -> list[Path]:
    """Returns object files in the cache, and compiles those that are missing."""
    directories.make_private(_cache())
    # The largest come first, so that no core waits for one of them at the end.
    units = sorted(wanted, key=lambda unit: -sum(path.stat().st_size for path in unit.paths))
    with ThreadPoolExecutor(len(usable_cores())) as pool:
        return list(pool.map(lambda each: _compile(compiler, each), units))


def library_units(flags: tuple[str, ...], loader: str = "dynamic_lib") -> Iterator[Unit]:
    """Yields the sources of the library, with `flags` for all of them and tvm-ffi's loader of libraries."""
    tvm, ffi = (package_directory(name) for name in ("tvm", "tvm_ffi"))
    versions = [
        f"{name}=={importlib.metadata.version(name)}" for name in ("apache-tvm", "apache-tvm-ffi", "ziglang")
    ]
    stand_ins = sorted(_STAND_INS.rglob("*.h"))
    included = sorted(path for path in SOURCES.rglob("*") if path.suffix in (".h", ".inc", ".bin"))
    include = (ffi / "include", ffi / "3rdparty" / "dlpack" / "include")
    own = (*_OWN_WARNINGS, *(f"-isystem{path}" for path in include))
    named = {"KOKORO_TVM_VERSION": importlib.metadata.version("apache-tvm"), "KOKORO_VERSION": __version__}
    own += tuple(f'-D{name}="{version}"' for name, version in named.items())
    facts = json.dumps([versions, _hashed(included)])
    yield from _by_folder(sorted(SOURCES.rglob("*.cpp")), (*flags, *own), facts)
    # TVM includes the missing headers from folders one and two above its own.
    places = (*include, tvm / "include", _STAND_INS, _STAND_INS / "tvm", _STAND_INS / "tvm" / "support")
    foreign = (*flags, "-w", *(f"-I{path}" for path in (*places, tvm / "src" / "runtime")))
    facts = json.dumps([versions, _hashed(stand_ins)])
    sources = [tvm / "src" / "runtime" / f"{name}.cc" for name in _TVM]
    sources += [ffi / "src" / "ffi" / f"{name}.cc" for name in _TVM_FFI]
    sources.append(ffi / "src" / "ffi" / "extra" / f"library_module_{loader}.cc")
    shown = [path for path in sources if path.stem == _VISIBLE]
    yield from _by_folder([path for path in sources if path not in shown], foreign, facts)
    yield from _by_folder(shown, tuple(flag for flag in foreign if flag not in _HIDDEN), facts)


def _by_folder(paths: Iterable[Path], flags: tuple[str, ...], facts: str) -> Iterator[Unit]:
    for _, group in groupby(sorted(paths, key=lambda path: (path.parent, path)), lambda path: path.parent):
        yield Unit(tuple(group), flags, facts)


def _hashed(paths: Iterable[Path]) -> str:
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
    stored = _cache() / f"{hashlib.sha256(key.encode()).hexdigest()}.o"
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


def _cache() -> Path:
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Builds the library and copies the header beside it."""
    parser = argparse.ArgumentParser(prog="python -m exporter.native.build", description=__doc__)
    parser.add_argument("--target", default="host", help=f"host, or one of {', '.join(TARGETS)}")
    parser.add_argument(
        "--output", type=Path, default=Path("build/native"), help="directory for library and header"
    )
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    target = find_target(given.target)
    build_library(target, given.output / library_name(target))
    shutil.copyfile(HEADER, given.output / HEADER.name)


if __name__ == "__main__":
    main()
