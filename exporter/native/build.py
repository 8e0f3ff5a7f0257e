"""Builds libkokoro with zig: ``python -m exporter.native.build --target linux-aarch64 --output DIRECTORY``.

The library has TVM's runtime and tvm-ffi inside, compiled from the sources in their wheels, and needs nothing
but the system's C library. Equal sources, versions and targets give equal bytes. Object files are kept in the
user's cache by what they are made from.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.compiler.link import LinkerMissingError
from exporter.compiler.targets import Target, find_target
from exporter.native import android, ios
from exporter.native.cxx_library import cxx_units
from exporter.native.mach_o import keep_names_inside
from exporter.native.zig import (
    OPTIMISED,
    STAND_INS,
    ZIG,
    Unit,
    by_folder,
    compile_all,
    hashed,
    package_directory,
    run,
)
from runtime_min import __version__

SOURCES = Path(__file__).resolve().parent / "sources"
"""`runtime_native`: a link to it in a checkout, the files themselves in a wheel."""
HEADER = SOURCES / "include" / "kokoro.h"
LIBRARY = "libkokoro.so"
"""The library's name on Linux and Android."""
TARGETS = ("linux-x86_64", "linux-aarch64", "macos-arm64", "ios-arm64", "android-arm64", "web")
"""Targets for which zig links the library, or one module with it (`framework`, `web_module`)."""
_NAMES = {"linux": LIBRARY, "android": LIBRARY, "macos": "libkokoro.dylib"}
_EXPORTED = Path(__file__).parent / "exported.map"
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
_OWN_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
_HIDDEN = tuple(
    f"-D{name}{end}=" for name in ("TVM_FFI_DLL", "TVM_RUNTIME_DLL", "TVM_DLL") for end in ("", "_EXPORT")
)
"""Lets zig's linker drop what nobody calls of TVM, where it takes no list of what is exported (`mach_o`)."""
_VISIBLE = "error"
"""The source of tvm-ffi with the function that compiled stages find by its name."""
_FOR_STAGES = "TVMFFIErrorSetRaisedFromCStrParts"
"""That function; in one module nobody looks for it."""
_ELF = (
    *("-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,now", "-Wl,-z,nodelete"),
    *(f"-Wl,--version-script={_EXPORTED}", f"-Wl,-soname,{LIBRARY}"),
)
_MACH_O = ("-Wl,-dead_strip", "-Wl,-dead_strip_dylibs")
_LINKED = {"linux": (*_ELF, "-ldl", "-lm"), "android": _ELF, "macos": _MACH_O, "ios": _MACH_O}
ONE_MODULE = "-DKOKORO_ONE_MODULE"
"""Flag of the sources if the stages are in the same file."""
_WITHOUT_OWN = {
    "linux": ("-nostdlib++", "-lunwind"),
    "android": (),
    # They unwind the stack themselves.
    "macos": ("-nostdlib++",),
    "ios": ("-nostdlib++",),
}
"""Arguments of the linker that leave zig's own C++ library out, by system; Android's leave out more."""


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
    require_library(target)
    link(target, library_name(target), library_objects(target), output)


def require_library(target: Target) -> None:
    """Refuses a target for which the library cannot be built by itself.

    Raises:
        LinkerMissingError: as `require_compiler`, or the library is a part of a module.
    """
    require_compiler(target)
    if target.one_module:
        raise LinkerMissingError(
            f"The C library for {target.name} is one module with the stages of a bundle: export a bundle."
        )


def library_objects(target: Target) -> list[Path]:
    """Returns the compiled sources of the library, and of the C++ library."""
    flags = (*FLAGS, *([ONE_MODULE] if target.one_module else ()), *system_flags(target), *OPTIMISED)
    own = library_units(flags, "system_lib" if target.one_module else "dynamic_lib")
    return compile_all(compiler_of(target, "c++"), [*own, *cxx_library(target)])


def link(
    target: Target, name: str, objects: Sequence[Path], output: Path, install_name: str | None = None
) -> None:
    """Links object files as a library for a target.

    Args:
        target: its system decides the arguments of the linker.
        name: of the file that the linker writes; a signature for macOS has it.
        objects: the files.
        output: where the library is copied to.
        install_name: where an app of Apple's systems finds it; by default beside others, by its name.

    Raises:
        LinkError: the linker failed.
    """
    with tempfile.TemporaryDirectory(prefix="kokoro-native-") as directory:
        place = Path(directory)
        made = place / name
        arguments = [*OPTIMISED, "-shared", "-s", "-o", str(made), *map(str, objects)]
        if target.system in ("macos", "ios"):
            arguments.append(f"-Wl,-install_name,{install_name or f'@rpath/{name}'}")
        arguments += [*without_own_cxx(target), *_LINKED[target.system], *system_libraries(target, place)]
        run([*compiler_of(target, "c++"), *arguments])
        if target.system in ("macos", "ios"):
            keep_names_inside(made, shown(target))
        shutil.copyfile(made, output)


def shown(target: Target) -> set[str]:
    """Returns the functions of a library that others see, as `exported.map` names them for other systems."""
    declared = set(re.findall(r"\bkokoro_\w+(?=\()", HEADER.read_text(encoding="utf-8")))
    return declared if target.one_module else declared | {_FOR_STAGES}


def compiler_of(target: Target, language: str) -> list[str]:
    """Returns the command that compiles ``cc`` (C) or ``c++`` for a target, and links."""
    triple = android.ZIG_TARGET if target.system == "android" else target.zig_target
    return [*ZIG, language, "-target", triple]


def system_flags(target: Target) -> tuple[str, ...]:
    """Returns the flags of all code for a target's system."""
    if target.system == "ios":
        return (*_HIDDEN, *ios.flags())
    return {"linux": (), "macos": _HIDDEN, "android": android.FLAGS}[target.system]


def cxx_library(target: Target) -> Iterator[Unit]:
    """Yields the sources of the C++ library."""
    if target.system == "android":
        yield from android.units()
    else:
        yield from cxx_units((*system_flags(target), "-fPIC", "-pthread"), (), has_files=True)


def without_own_cxx(target: Target) -> tuple[str, ...]:
    """Returns the arguments of the linker that leave zig's own C++ library out."""
    return _WITHOUT_OWN[target.system]


def system_libraries(target: Target, place: Path) -> tuple[str, ...]:
    """Returns the linker's arguments for the system's libraries, if zig has none; files are in `place`."""
    linked = {"android": android.linked, "ios": ios.linked}.get(target.system)
    return linked(place) if linked else ()


def library_units(flags: tuple[str, ...], loader: str = "dynamic_lib") -> Iterator[Unit]:
    """Yields the sources of the library, with `flags` for all of them and tvm-ffi's loader of libraries."""
    tvm, ffi = (package_directory(name) for name in ("tvm", "tvm_ffi"))
    versions = [
        f"{name}=={importlib.metadata.version(name)}" for name in ("apache-tvm", "apache-tvm-ffi", "ziglang")
    ]
    stand_ins = sorted(STAND_INS.rglob("*.h"))
    included = sorted(path for path in SOURCES.rglob("*") if path.suffix in (".h", ".inc", ".bin"))
    include = (ffi / "include", ffi / "3rdparty" / "dlpack" / "include")
    own = (*_OWN_WARNINGS, *(f"-isystem{path}" for path in (*include, tvm / "include")))
    named = {"KOKORO_TVM_VERSION": importlib.metadata.version("apache-tvm"), "KOKORO_VERSION": __version__}
    own += tuple(f'-D{name}="{version}"' for name, version in named.items())
    facts = json.dumps([versions, hashed([*stand_ins, *included])])
    yield from by_folder(sorted(SOURCES.rglob("*.cpp")), (*flags, *own), facts)
    # TVM includes the missing headers from folders one and two above its own.
    places = (*include, tvm / "include", STAND_INS, STAND_INS / "tvm", STAND_INS / "tvm" / "support")
    foreign = (*flags, "-w", *(f"-I{path}" for path in (*places, tvm / "src" / "runtime")))
    facts = json.dumps([versions, hashed(stand_ins)])
    # As one unit its three folders take two thirds of the time that they take apart.
    yield Unit(tuple(tvm / "src" / "runtime" / f"{name}.cc" for name in _TVM), foreign, facts)
    sources = [ffi / "src" / "ffi" / f"{name}.cc" for name in _TVM_FFI]
    sources.append(ffi / "src" / "ffi" / "extra" / f"library_module_{loader}.cc")
    shown = [path for path in sources if path.stem == _VISIBLE]
    yield from by_folder([path for path in sources if path not in shown], foreign, facts)
    # In one module nobody looks for it by its name.
    visible = foreign if ONE_MODULE in flags else (each for each in foreign if each not in _HIDDEN)
    yield from by_folder(shown, tuple(visible), facts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Builds the library and copies the header beside it."""
    parser = argparse.ArgumentParser(prog="python -m exporter.native.build", description=__doc__)
    parser.add_argument("--target", default="host", help=f"host, or one of {', '.join(TARGETS)}")
    parser.add_argument(
        "--output", type=Path, default=Path("build/native"), help="directory for library and header"
    )
    given = parser.parse_args(arguments)
    target = find_target(given.target)
    require_library(target)
    given.output.mkdir(parents=True, exist_ok=True)
    build_library(target, given.output / library_name(target))
    shutil.copyfile(HEADER, given.output / HEADER.name)


if __name__ == "__main__":
    main()
