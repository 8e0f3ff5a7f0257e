"""Exact float32 constants in Metal's source, where TVM prints seven of the nine digits that they need."""

from typing import Any

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.script import tirx as T


def exact_constants(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """Returns the function with the bits of each float32 constant that seven digits do not represent."""
    return function.with_body(tvm_ffi.structural_map(function.body, (tirx.FloatImm, _as_bits)))


def _as_bits(constant: tirx.FloatImm) -> Any:
    value = np.float32(constant.value)
    if str(constant.ty.dtype) != "float32" or np.float32(f"{value:.6e}") == value:
        return constant
    return T.reinterpret("float32", T.int32(int(value.view(np.int32))))
