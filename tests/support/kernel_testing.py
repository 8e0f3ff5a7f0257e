"""Helpers of kernel tests: CPU levels of this machine, compiling, guarded calls, numbers of threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
import tvm
from numpy.typing import NDArray
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.targets import find_target
from tests.support.compiled_kernels import compiled
from tests.support.emulated_kernels import EmulatedKernel
from tests.support.guarded import guarded_call

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
