"""The multiply-add peak of this machine, with which kernels are compared."""

from __future__ import annotations

import time
from typing import Any

_STEPS = 1 << 22
_RUNS = 7
_ACCUMULATORS = (8, 10, 12, 14)
"""Independent sums: enough to hide the latency of a multiply-add, few enough to stay in 16 registers."""


def multiply_adds(accumulators: int, lanes: int, jobs: int, steps: int) -> Any:
    """Returns a TIR kernel in which each job multiplies and adds `accumulators` vectors `steps` times.

    Buffers, float32: x [2, lanes], factor and addend; y [jobs, accumulators, lanes].
    """
    from tvm.script import tirx as T
    from tvm.tirx.op import fma

    @T.prim_func(private=True, s_tir=True)  # type: ignore[untyped-decorator]
    def kernel(x_handle: T.handle, y_handle: T.handle) -> None:
        T.func_attr({"tirx.noalias": True})
        x = T.match_buffer(x_handle, (2, lanes), "float32")
        y = T.match_buffer(y_handle, (jobs, accumulators, lanes), "float32")
        for job in T.parallel(jobs):
            total = T.alloc_buffer((accumulators, lanes), "float32", scope="local")
            for row in T.unroll(accumulators):
                for lane in T.vectorized(lanes):
                    total[row, lane] = T.cast(row, "float32")
            for _ in T.serial(steps):
                for row in T.unroll(accumulators):
                    for lane in T.vectorized(lanes):
                        total[row, lane] = fma(total[row, lane], x[0, lane], x[1, lane])
            for row in T.unroll(accumulators):
                for lane in T.vectorized(lanes):
                    y[job, row, lane] = total[row, lane]

    return kernel


def multiply_add_rate(level_name: str, threads: int) -> float:
    """Returns the GFLOP/s of this machine with the instructions of a CPU level.

    It is the best of several runs of loops of nothing but fused multiply-adds on registers. Call it in a
    separate process, because it needs TVM's compiler.
    """
    import numpy as np
    import tvm
    import tvm_ffi

    from exporter.compiler.targets import find_target

    target = find_target("host")
    level = next(level for level in target.levels if level.name == level_name)
    machine = tvm.target.Target({"kind": "llvm", "mtriple": target.triple, "mcpu": level.mcpu})
    best = 0.0
    for accumulators in _ACCUMULATORS:
        kernel = multiply_adds(accumulators, level.lanes, threads, _STEPS)
        built = tvm.compile(kernel.with_attr("global_symbol", "kernel"), machine)
        x, y = (
            tvm_ffi.from_dlpack(tvm.runtime.tensor(array))
            for array in (
                np.full((2, level.lanes), 0.5, np.float32),
                np.zeros((threads, accumulators, level.lanes), np.float32),
            )
        )
        operations = 2 * accumulators * level.lanes * _STEPS * threads
        for _ in range(_RUNS):
            started = time.perf_counter()
            built["kernel"](x, y)
            best = max(best, operations / (time.perf_counter() - started) / 1e9)
    return best
