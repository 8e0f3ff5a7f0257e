"""Libraries of single kernels in the user's cache, so that each kernel is compiled once."""

from __future__ import annotations

import hashlib
import tempfile
from functools import cache
from pathlib import Path

import tvm
from tvm.tirx import PrimFunc

from exporter import directories
from exporter.compiler.link import link_library
from exporter.compiler.targets import Target
from tests.support.paths import PROVING

_FRESH = tempfile.TemporaryDirectory(prefix="kernels-")


@cache
def _place() -> Path:
    """Returns the directory of the libraries, which is empty at first for `make prove`."""
    if PROVING:
        return Path(_FRESH.name)
    place = directories.cache() / "test-kernels"
    place.mkdir(parents=True, exist_ok=True)
    return place


def compiled(kernel: PrimFunc, compile_for: tvm.target.Target, link_for: Target) -> Path:
    """Returns a library with `kernel` under the name ``kernel``.

    The kernel's text as TVMScript, the target and TVM's version determine the library's name.
    """
    kernel = kernel.with_attr("global_symbol", "kernel")
    description = "\0".join((tvm.__version__, str(compile_for), link_for.name, kernel.script()))
    name = hashlib.sha256(description.encode()).hexdigest()[:32] + link_for.library_suffix
    path = _place() / name
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=_place()) as staging:
            library = Path(staging) / name
            link_library(tvm.compile(kernel, compile_for), library, link_for)
            library.replace(path)
    return path
