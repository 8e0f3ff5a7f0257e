"""A module with one kernel for a GPU, of symbolic length, and its call without the compiler."""

from functools import cache

from tvm import IRModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

THREADS = 128


@cache
def scaled() -> IRModule:
    """x / (exp(x) + 1) on a GPU; its kernel is `scale_kernel`."""

    @I.ir_module
    class _Scaled:
        @T.prim_func(private=True, s_tir=True)
        def scale(x: T.handle, y: T.handle):
            length = T.int64()
            X = T.match_buffer(x, (length,), "float32")
            Y = T.match_buffer(y, (length,), "float32")
            for block in T.thread_binding((length + THREADS - 1) // THREADS, thread="blockIdx.x"):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    if block * THREADS + thread < length:
                        Y[block * THREADS + thread] = X[block * THREADS + thread] / (
                            T.exp(X[block * THREADS + thread]) + T.float32(1)
                        )

        @R.function
        def main(x: R.Tensor(("length",), "float32")) -> R.Tensor(("length",), "float32"):
            length = T.int64()
            with R.dataflow():
                y = R.call_tir(_Scaled.scale, (x,), out_ty=R.Tensor((length,), "float32"))
                R.output(y)
            return y

    return _Scaled


RUN = """
import ctypes, sys
sys.modules["torch"] = None
import numpy, tvm_ffi
*libraries, library, length = sys.argv[1:]
for path in libraries:
    ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
machine = tvm_ffi.load_module(library)["vm_load_executable"]()
machine["vm_initialization"](2, 0, 2, 1, 0, 2)
to_device = tvm_ffi.get_global_func("vm.builtin.to_device")
x = tvm_ffi.from_dlpack(numpy.zeros(int(length), "float32"))
print(machine["main"](to_device(x, 2, 0)).shape, flush=True)
"""
"""A program that loads libraries, then runs `main` of the last on zeros; its arguments are their paths and a
length."""
