"""Kernels for WebAssembly, which has no float16, no fused multiply-add and no prefetch."""

import math
from typing import Any

import numpy as np
import tvm_ffi
from numpy.typing import NDArray
from tvm import tirx
from tvm.ir import Call, Op
from tvm.script import tirx as T

from exporter.compiler.kernels import vector_math

_PREFETCH = Op.get("tirx.prefetch")
_FMA = Op.get("tirx.fma")
_REDUCING = (-vector_math.PI_HIGH, -vector_math.LN2_HIGH)
"""Constants of which `vector_math` subtracts an integer multiple, which must be exact."""
_SHORT = 12
"""Bits of a part of such a constant: its product with an integer below 4096 is exact."""
ENLARGED = 2.0**10
"""Factor of stored float16 numbers, so that none is subnormal: those took a tenth of the time of speech."""


def for_wasm(function: tirx.PrimFunc, *, exact: bool) -> tirx.PrimFunc:
    """Returns the function without prefetches, and with arithmetic in place of casts from float16.

    LLVM makes a call of each cast, which takes four times the whole inference.

    Args:
        function: the kernel.
        exact: True to round a fused multiply-add once, as other processors do, which takes float64.
    """
    body = tvm_ffi.structural_map(function.body, (tirx.Evaluate, _without_prefetch))
    body = tvm_ffi.structural_map(body, (tirx.Cast, _widened))
    return function.with_body(tvm_ffi.structural_map(body, (Call, _fused if exact else _reduced)))


def _without_prefetch(statement: tirx.Evaluate) -> Any:
    # Constants have no operation.
    operation = getattr(statement.value, "op", None)
    return tirx.Evaluate(T.int32(0)) if operation == _PREFETCH else statement


def _fused(call: Call) -> Any:
    """Returns a fused multiply-add in float64, where the product is exact; the sum is rounded there first."""
    if call.op != _FMA or _type(call) != "float32":
        return call
    factor, other, addend = map(_in_float64, call.args)
    return T.cast(factor * other + addend, "float32")


def _in_float64(value: Any) -> Any:
    # TVM keeps the digits of a constant of float32 that float32 does not have.
    return (
        T.float64(float(np.float32(value.value)))
        if isinstance(value, tirx.FloatImm)
        else T.cast(value, "float64")
    )


def _reduced(call: Call) -> Any:
    """Returns the subtraction of a multiple of a constant as two, whose products are exact."""
    if call.op != _FMA or _type(call) != "float32":
        return call
    multiple, constant, number = call.args
    if not isinstance(constant, tirx.FloatImm) or constant.value not in _REDUCING:
        return call
    mantissa, exponent = math.frexp(constant.value)
    high = math.ldexp(round(math.ldexp(mantissa, _SHORT)), exponent - _SHORT)
    return (number + multiple * T.float32(high)) + multiple * T.float32(constant.value - high)


def _widened(cast: tirx.Cast) -> Any:
    """Returns an `enlarged` number as it was, by bits: a longer mantissa, another bias of the exponent."""
    if (_type(cast.value), _type(cast)) != ("float16", "float32"):
        return cast
    # The sign comes to its place with three more, which the mask takes away.
    bits = T.shift_left(T.cast(T.reinterpret("int16", cast.value), "int32"), T.int32(13))
    kept = T.reinterpret("float32", T.bitwise_and(bits, T.int32(~0x70000000)))
    return kept * T.float32(2.0**112 / ENLARGED)


def enlarged(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Returns float16 numbers as these kernels take them, infinite from 64 on; others stay as they are."""
    with np.errstate(over="ignore"):
        return np.multiply(values, ENLARGED, dtype=np.float16) if values.dtype == np.float16 else values


def _type(value: Any) -> str:
    return str(value.ty)
