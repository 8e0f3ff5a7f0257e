"""Kernels on the CPU levels of this machine or of an emulated one: compiled once, called among NaN."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from numpy.typing import NDArray
from tvm.tirx import PrimFunc

from exporter import directories
from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.link import link_library
from exporter.compiler.targets import CpuLevel, Target, find_target
from tests.support.emulation.machine import Ask
from tests.support.kernels.guarded_memory import guarded_call
from tests.support.paths import PROVING

Array = NDArray[np.float32]
HAS_AVX512 = tvm.target.codegen.llvm_cpu_has_features(
    "avx512f", tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
)
TILES = {
    level.name: tiles_of(level)
    for level in reversed(find_target("linux-x86_64").levels)
    if "avx512f" not in level.features or HAS_AVX512
}
"""Register tiles of the CPU levels that this machine runs."""
LEVELS = list(TILES)
every_level = pytest.mark.parametrize("level", LEVELS)
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
    return _stored(
        kernel,
        (str(compile_for), link_for.name),
        link_for.library_suffix,
        lambda library: link_library(tvm.compile(kernel, compile_for), library, link_for),
    )


def assembly(kernel: PrimFunc, level: str) -> str:
    """Returns the assembly of `kernel`, under the name ``kernel``, for a CPU level of this machine."""
    kernel = kernel.with_attr("global_symbol", "kernel")

    def write(file: Path) -> None:
        file.write_text(tvm.compile(kernel, llvm(level)).mod.inspect_source("asm"), encoding="utf-8")

    return _stored(kernel, (str(llvm(level)),), ".s", write).read_text(encoding="utf-8")


def _stored(
    kernel: PrimFunc, compiled_for: tuple[str, ...], suffix: str, write: Callable[[Path], object]
) -> Path:
    """Returns the file that `write` makes of a kernel, unless another process has made it."""
    description = "\0".join((tvm.__version__, *compiled_for, kernel.script(show_meta=True)))
    name = hashlib.sha256(description.encode()).hexdigest()[:32] + suffix
    path = _place() / name
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=_place()) as staging:
            write(Path(staging) / name)
            (Path(staging) / name).replace(path)
    return path


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel in a library that only the emulated machine can load."""

    library: Path
    ask: Ask

    def call(self, shape: tuple[int, ...], *inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Has the emulated machine do what `guarded_memory.guarded_call` does here."""
        result: NDArray[np.float32] = self.ask((str(self.library), shape, inputs))
        return result


@dataclass(frozen=True)
class EmulatedLevel:
    """Compiles kernels for a CPU level of an emulated machine."""

    target: Target
    level: CpuLevel
    ask: Ask
    """Asks the machine, which answers with `guarded_memory.answers`."""

    def build(self, kernel: PrimFunc) -> EmulatedKernel:
        """Compiles and links a kernel."""
        library = compiled(kernel, tvm_target(self.target, self.level), self.target)
        return EmulatedKernel(library, self.ask)


EMULATED: dict[str, Callable[[PrimFunc], EmulatedKernel]] = {}
"""Compilers for the levels of an emulated machine, while there is one."""


@cache
def build(level: str, make: Callable[..., PrimFunc], *arguments: Any, **options: Any) -> Any:
    """Returns the kernel `make(*arguments, **options)` for one level, under the name `kernel`."""
    kernel = make(*arguments, **options)
    if level in EMULATED:
        return EMULATED[level](kernel)
    return tvm.runtime.load_module(str(compiled(kernel, llvm(level), find_target("host"))))


def llvm(level: str) -> tvm.target.Target:
    """Returns TVM's target for a CPU level of this machine."""
    return tvm.target.Target({"kind": "llvm", "mcpu": level})


def call(kernel: Any, shape: tuple[int, ...], *inputs: NDArray[Any]) -> Array:
    """Runs a kernel among NaN, which show reads beside its inputs and unwritten outputs."""
    if isinstance(kernel, EmulatedKernel):
        return kernel.call(shape, *inputs)
    return guarded_call(kernel["kernel"], shape, *inputs)


def run(
    make: Callable[..., PrimFunc], arguments: tuple[Any, ...], shape: tuple[int, ...], *inputs: NDArray[Any],
    tiled: bool = False,
) -> Array:  # fmt: skip
    """Returns the output of the kernel `make(*arguments)`, which must have the same bits on every CPU level.

    Args:
        make: the kernel's factory.
        arguments: its arguments.
        shape: shape of the output.
        inputs: the kernel's inputs.
        tiled: the factory's last argument is the level's register tiles.
    """
    outputs = [
        call(build(level, make, *arguments, *((TILES[level],) if tiled else ())), shape, *inputs)
        for level in LEVELS
    ]
    for output in outputs[1:]:
        np.testing.assert_array_equal(output.view(np.int32), outputs[0].view(np.int32))
    return outputs[0]


def relative_error(values: Array, expected: NDArray[np.float64]) -> float:
    """The greatest difference over the RMS of the expected values; NaN if a value is NaN."""
    return float(np.abs(values - expected).max() / np.sqrt(np.mean(expected**2)))


def without_subnormals(values: Array) -> Array:
    """Returns the values with zeros for subnormal ones, as instructions for bfloat16 read them."""
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


def assert_nothing_is_left_in_workspaces(compute: Callable[..., Array], *inputs: NDArray[Any]) -> None:
    """Fails where a workspace that the call before has filled with NaN changes a bit of a result."""
    clean = compute(*inputs)
    compute(*(np.full_like(value, np.nan) if value.dtype == np.float32 else value for value in inputs))
    np.testing.assert_array_equal(compute(*inputs), clean)


def assert_threads_change_no_bit(compute: Callable[[], Array]) -> None:
    """Fails where 1, 2 and 3 threads do not give the same bits.

    A pool belongs to the thread that first uses it, and its size is fixed from then on, so the calls are made
    on a thread of their own.
    """

    def on_each_number() -> dict[int, bytes]:
        results = {}
        for threads in (3, 2, 1):
            tvm.get_global_func("runtime.config_threadpool")(1, threads)
            results[tvm.get_global_func("runtime.NumThreads")()] = compute().tobytes()
        return results

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as executor:
        patch.setenv("TVM_NUM_THREADS", "3")
        results = executor.submit(on_each_number).result()
    assert set(results) == {1, 2, 3}
    assert len(set(results.values())) == 1
