"""The multiply-add peak of this machine, the denominator of the profile.

``python -m exporter.bench.peak LEVEL THREADS`` prints GFLOP/s: the best of several runs of loops that do
nothing but fused multiply-adds on registers. It is a process of its own because it needs TVM's compiler.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from exporter.bench.engines import EngineError, environment

_STEPS = 1 << 22
_RUNS = 7
_ACCUMULATORS = (8, 10, 12, 14)
"""Independent sums: enough to hide the latency of a multiply-add, few enough to stay in 16 registers."""


def measure_peak(level: str, threads: int) -> float:
    """GFLOP/s of this machine with the instructions of a CPU level.

    Raises:
        EngineError: the loop could not be compiled or run.
    """
    command = [sys.executable, "-W", "ignore", "-m", "exporter.bench.peak", level, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(threads))
    if done.returncode != 0:
        raise EngineError(f"The machine's multiply-add peak could not be measured:\n{done.stderr.strip()}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def multiply_adds(accumulators: int, lanes: int, jobs: int, steps: int) -> Any:
    """A TIR kernel: each job multiplies and adds `accumulators` vectors `steps` times.

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


def main(level_name: str, threads: str) -> None:
    """Prints the peak."""
    import numpy as np
    import tvm
    import tvm_ffi

    from exporter.compiler.targets import find_target

    target = find_target("host")
    level = next(level for level in target.levels if level.name == level_name)
    machine = tvm.target.Target({"kind": "llvm", "mtriple": target.triple, "mcpu": level.mcpu})
    jobs = int(threads)
    best = 0.0
    for accumulators in _ACCUMULATORS:
        kernel = multiply_adds(accumulators, level.lanes, jobs, _STEPS)
        built = tvm.compile(kernel.with_attr("global_symbol", "kernel"), machine)
        x, y = (
            tvm_ffi.from_dlpack(tvm.runtime.tensor(array))
            for array in (
                np.full((2, level.lanes), 0.5, np.float32),
                np.zeros((jobs, accumulators, level.lanes), np.float32),
            )
        )
        operations = 2 * accumulators * level.lanes * _STEPS * jobs
        for _ in range(_RUNS):
            started = time.perf_counter()
            built["kernel"](x, y)
            best = max(best, operations / (time.perf_counter() - started) / 1e9)
    print(json.dumps(best))


if __name__ == "__main__":
    main(*sys.argv[1:])
