"""Calls kernels on the stand-in in a process without the package `tvm`; `questions.py` starts it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64


def answers(runtime: str, library: str) -> Callable[[Any], list[NDArray[np.float32]]]:
    """Returns a function that answers the questions of `stand_in.calling`."""
    sys.modules["torch"] = None  # type: ignore[assignment]  # tvm_ffi would import it
    import tvm_ffi

    ctypes.CDLL(runtime, ctypes.RTLD_GLOBAL)
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    device = tvm_ffi.device("metal:0" if "_metal_" in library else "cuda:0")
    allocate = tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")
    copy = tvm_ffi.get_global_func("runtime.TVMTensorCopyFromTo")

    def on_device(shape: tuple[int, ...], dtype: str) -> Any:
        return allocate(tvm_ffi.Shape(shape), tvm_ffi.dtype(dtype), device, None)

    def moved(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        tensor = on_device(value.shape, value.dtype.name)
        copy(tvm_ffi.from_dlpack(_aligned(value)), tensor)
        return tensor

    def answer(question: Any) -> list[NDArray[np.float32]]:
        assert "tvm" not in sys.modules
        path, name, shapes, inputs = question
        outputs = [on_device(shape, "float32") for shape in shapes]
        tvm_ffi.load_module(path)[name](*map(moved, inputs), *outputs)
        results = [_aligned(np.empty(shape, np.float32)) for shape in shapes]
        for output, result in zip(outputs, results, strict=True):
            copy(output, tvm_ffi.from_dlpack(result))
        return results

    return answer


def _aligned(value: NDArray[Any]) -> NDArray[Any]:
    memory = np.empty(value.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    copy = memory[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy
