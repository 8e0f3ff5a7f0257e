"""Links the WebAssembly module of a bundle for the web: the stages' libraries, the C library, TVM's runtime.

zig's C++ library for WASI knows neither exceptions nor mutexes, so that of its sources is compiled here. The
module imports functions of WASI, which JavaScript implements (`runtime_native/web`).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from exporter.compiler.targets import WASM_FEATURES, Target
from exporter.native.build import FLAGS, ONE_MODULE, SOURCES, library_units
from exporter.native.cxx_library import cxx_units
from exporter.native.zig import OPTIMISED, ZIG, compile_all, members, run

SCRIPTS = SOURCES / "web"
"""JavaScript that runs the module."""
_INDENTATION = re.compile(rb"^ +", re.MULTILINE)
_CPU = "-mcpu=generic+exception_handling+" + "+".join(WASM_FEATURES).replace("-", "_")
_SYSTEM = (
    *(_CPU, "-fwasm-exceptions"),
    ONE_MODULE,
    # Of its one thread a mutex is always free.
    *("-Wno-macro-redefined", "-D_LIBCPP_HAS_THREADS=1", "-D_LIBCPP_HAS_FILESYSTEM=1"),
    # tvm-ffi does not know the system.
    "-DTVM_FFI_CMAKE_LITTLE_ENDIAN=1",
)
_UNWINDING = "Unwind-wasm.c"
"""The part of libunwind that WebAssembly's exceptions need."""
_REPLACED = ("ParallelLaunch", "AllocWorkspace", "FreeWorkspace")
"""Functions of TVM under whose names kernels find others, those of `runtime_native/web/pool.cpp`."""
_ABSENT = ("-fPIC", "-pthread")
"""Flags of other systems' libraries."""
_EXPORTED = (
    *("kokoro_version", "kokoro_last_error", "kokoro_load", "kokoro_free", "kokoro_model_name"),
    *("kokoro_is_synthetic", "kokoro_max_phonemes", "kokoro_synthesize", "kokoro_pieces_open"),
    *("kokoro_pieces_next", "kokoro_pieces_free", "kokoro_audio_free", "kokoro_live_open"),
    *("kokoro_live_push", "kokoro_live_flush", "kokoro_live_end", "kokoro_live_free"),
)
"""Functions of kokoro.h that JavaScript calls; `runtime_native/web/module.cpp` exports its own."""
_FOR_HELPERS = ("__stack_pointer", "__wasm_init_tls", "__tls_size", "__tls_align")
"""What the linker makes, and JavaScript sets for each thread that helps."""
_STACK = 1 << 20
"""Bytes; tests on the longest texts have used a tenth."""
_INITIAL_MEMORY, _MOST_MEMORY = 1 << 24, 1 << 31
"""Bytes of the memory, which JavaScript makes (`runtime_native/web/module.mjs` has them as pages)."""


def link_module(libraries: Sequence[Path], target: Target, output: Path) -> None:
    """Links a module with these libraries of stages, which `compiler.link.link_library` has written.

    Raises:
        LinkError: the compiler or the linker failed.
    """
    compiler = [*ZIG, "c++", "-target", target.zig_target]
    renamed = [f"-DTVMBackend{name}=KokoroTVM{name}" for name in _REPLACED]
    flags = (*(flag for flag in FLAGS if flag not in _ABSENT), *_SYSTEM, *renamed, *OPTIMISED)
    objects = compile_all(
        compiler, [*library_units(flags, "system_lib"), *cxx_units(_SYSTEM, (_UNWINDING,), has_files=False)]
    )
    exported = [f"-Wl,--export={name}" for name in (*_EXPORTED, *_FOR_HELPERS)]
    memory = (f"-Wl,--initial-memory={_INITIAL_MEMORY}", f"-Wl,--max-memory={_MOST_MEMORY}")
    with tempfile.TemporaryDirectory(prefix="kokoro-web-") as place:
        made = Path(place, PurePosixPath(target.module).name)
        objects += members(libraries, Path(place))
        run(
            [
                *(*compiler, _CPU, *OPTIMISED, "-nostdlib++", "-mexec-model=reactor", "-s"),
                *("-Wl,--gc-sections", f"-Wl,-z,stack-size={_STACK}", *exported),
                *("-Wl,--shared-memory", "-Wl,--import-memory", *memory),
                *("-o", str(made), *map(str, objects)),
            ]
        )
        output.write_bytes(made.read_bytes())


def scripts() -> dict[str, bytes]:
    """Returns the JavaScript of a bundle by its path there, without the indentation, a tenth of it."""
    kept = (".mjs", ".mts", ".json")
    return {
        f"web/{path.name}": _INDENTATION.sub(b"", path.read_bytes())
        for path in sorted(SCRIPTS.iterdir())
        if path.suffix in kept
    }
