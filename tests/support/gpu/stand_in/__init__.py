"""Stands in for TVM's devices `metal` and `cuda` on a CPU, so that kernels for GPUs run in tests.

`build("metal")` compiles a library that takes the place of TVM's `libtvm_runtime_metal`. A process
that has loaded `libtvm_runtime.so` loads it before it first asks for the device (`load`, or ctypes, or as
the device library of a bundle), and then has `metal:0`; nothing else of Python is needed there. Libraries
that were exported for the device and a host like this machine, such as ``{"kind": "metal", "host": {"kind":
"llvm", "mtriple": "x86_64-linux-gnu"}}``, load and run as they would on a Mac: when they are loaded, g++
compiles their kernels, whose source they hold. For `cuda` a library must hold the source, not a fatbin.

What a GPU would refuse, or get wrong without a word, is an error that names the kernel: launches beyond the
device's limits, barriers that some threads miss, writes beside a tensor or beside an array of the group.
Memory that nobody wrote is NaN. `calling` starts a process with such a device for tests of single kernels.

Environment variables of the process: `STAND_IN_CACHE`, a directory that keeps compiled kernels, otherwise
`kernels` beside the library; `STAND_IN_THREADS`, otherwise the number of cores.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exporter import directories
from tests.support.emulation import questions

Ask = Callable[..., list[NDArray[np.float32]]]

_SOURCES = Path(__file__).parent
_FLAGS = ("-std=c++17", "-O2", "-g1", "-shared", "-fPIC", "-pthread", "-Wall", "-Werror=return-type")


def build(kind: str, fast_math: bool = False) -> Path:
    """Compiles the stand-in for the device `kind`, "metal" or "cuda", unless the user's cache has it.

    Args:
        kind: of the device.
        fast_math: whether functions and divisions shall be off by as much as the device's fast math allows,
            the compiler may reassociate, and denormals are zero.
    """
    place = directories.cache() / "stand_in"
    headers = [_package("tvm") / "include", _package("tvm_ffi") / "include"]
    sources = sorted(_SOURCES.glob("*.cc"))
    compiler = shlex.join([sys.executable, str(_SOURCES / "compile_kernels.py")])
    environment = f'STAND_IN_CACHE="${{STAND_IN_CACHE:-{place / "kernels"}}}" '
    definitions = [
        f'-DSTAND_IN_DEVICE="{kind}"',
        f"-DSTAND_IN_FAST_MATH={int(fast_math)}",
        "-DSTAND_IN_COMPILER=" + _quoted(environment + compiler),
    ]
    libraries = [str(runtime_library()), f"-L{_package('tvm_ffi') / 'lib'}", "-ltvm_ffi"]
    arguments = [
        *_FLAGS,
        *definitions,
        *(f"-I{path}" for path in headers),
        *map(str, sources),
        *libraries,
        "-ldl",
    ]
    versions = [importlib.metadata.version(name) for name in ("apache-tvm", "apache-tvm-ffi")]
    digest = hashlib.sha256(repr([arguments, versions]).encode())
    for source in [*sources, *sorted(_SOURCES.glob("*.h"))]:
        digest.update(source.read_bytes())
    library = place / f"libstand_in_{kind}_{digest.hexdigest()[:16]}.so"
    if not library.exists():
        place.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        subprocess.run(["g++", *arguments, "-o", str(unfinished)], check=True)
        unfinished.rename(library)
    return library


def load(path: Path) -> None:
    """Gives this process the device of a library that `build` made; TVM's runtime must be in it already."""
    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


@contextmanager
def calling(library: Path) -> Iterator[Ask]:
    """Starts a process with the device of `library` and without the package `tvm`, and yields how to ask it.

    A question is a path of a library, the name of its function, the shapes of its float32 outputs, which
    are its last arguments and hold NaN before the call, and a list of its inputs (arrays and numbers). The
    answer is a list of the outputs; an error of the process is raised as RuntimeError with its text.
    """
    script = _SOURCES / "calls.py"
    with questions.asking([sys.executable], script, runtime_library(), library) as ask:
        yield lambda *question: ask(question)


def runtime_library() -> Path:
    """TVM's runtime in the installed package."""
    return _package("tvm") / "lib" / "libtvm_runtime.so"


def _package(name: str) -> Path:
    """Directory of an installed package, which is not imported."""
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


def _quoted(text: str) -> str:
    """A string literal of C."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
