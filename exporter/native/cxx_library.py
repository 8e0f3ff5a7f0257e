"""The C++ library, compiled from zig's sources of it.

zig's own for WASI knows neither exceptions nor mutexes, and that for Linux has the types of another C library
than Android's. Where zig's own would do, its 60 sources take three times as long as these.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence

from exporter.native.zig import OPTIMISED, Unit, by_folder, package_directory

_CXX = (
    *("call_once", "charconv", "chrono", "condition_variable", "condition_variable_destructor"),
    *("error_category", "exception", "functional", "future", "hash", "ios", "ios.instantiations", "iostream"),
    *("locale", "memory", "mutex", "mutex_destructor", "new_helpers", "optional", "stdexcept", "string"),
    *("system_error", "thread", "variant"),
)
"""Sources of libc++ of which the C library has something, in ``libcxx/src``."""
_CXXABI = (
    *("abort_message", "cxa_default_handlers", "cxa_demangle", "cxa_exception", "cxa_exception_storage"),
    *("cxa_guard", "cxa_handlers", "cxa_personality", "cxa_virtual", "fallback_malloc", "private_typeinfo"),
    *("stdlib_exception", "stdlib_new_delete", "stdlib_stdexcept", "stdlib_typeinfo"),
)
"""The same of libc++abi, in ``libcxxabi/src``."""
_CXX_OF_FILES = ("filesystem/filesystem_error", "filesystem/operations", "filesystem/path", "random")
_CXXABI_OF_THREADS = ("cxa_thread_atexit",)
_DEFINED = (
    *("_LIBCPP_BUILDING_LIBRARY", "LIBCXX_BUILDING_LIBCXXABI", "_LIBCXXABI_BUILDING_LIBRARY"),
    *("_LIBUNWIND_HIDE_SYMBOLS", "NDEBUG"),
)
_ALONE = ("condition_variable_destructor", "error_category", "memory", "mutex_destructor", "random")
"""Sources before which others must not be included."""
_LANGUAGES = {".c": ("-x", "c", "-std=c11"), ".cpp": ("-std=c++23",)}


def cxx_units(system: tuple[str, ...], unwinding: Sequence[str], *, has_files: bool) -> Iterator[Unit]:
    """Yields the sources of the C++ library.

    Args:
        system: flags of all code for the target.
        unwinding: sources of libunwind, in ``libunwind/src``.
        has_files: the target has paths and threads of a system.
    """
    library = package_directory("ziglang") / "lib"
    cxx, abi, unwind = (library / name / "src" for name in ("libcxx", "libcxxabi", "libunwind"))
    paths = [cxx / f"{name}.cpp" for name in (*_CXX, *(_CXX_OF_FILES if has_files else ()))]
    paths += [abi / f"{name}.cpp" for name in (*_CXXABI, *(_CXXABI_OF_THREADS if has_files else ()))]
    paths += [unwind / name for name in unwinding]
    flags = (
        *(*system, *OPTIMISED, "-w", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"),
        *(f"-D{name}" for name in _DEFINED),
        *(
            f"-I{place}"
            for place in (cxx, library / "libcxx" / "libc", abi, library / "libunwind" / "include")
        ),
    )
    facts = importlib.metadata.version("ziglang")
    alone = [path for path in paths if path.stem in _ALONE or path.suffix != ".cpp"]
    for path in alone:
        yield Unit((path,), (*flags, *_LANGUAGES[path.suffix]), facts)
    yield from by_folder(set(paths).difference(alone), (*flags, *_LANGUAGES[".cpp"]), facts)
