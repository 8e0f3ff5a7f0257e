"""Constants that survive being printed: TVM gives Metal's seven digits, where a float32 needs nine."""

from typing import Any

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.script import tirx as T


def exact_constants(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """Writes float32 constants that seven digits do not give as their bits."""
    return function.with_body(tvm_ffi.structural_map(function.body, (tirx.FloatImm, _as_bits)))


def _as_bits(constant: tirx.FloatImm) -> Any:
    value = np.float32(constant.value)
    if str(constant.ty.dtype) != "float32" or np.float32(f"{value:.6e}") == value:
        return constant
    return T.reinterpret("float32", T.int32(int(value.view(np.int32))))
