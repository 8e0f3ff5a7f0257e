"""Kernels for WebAssembly, which has no float16, no fused multiply-add and no prefetch."""

from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op
from tvm.script import tirx as T

_PREFETCH = Op.get("tirx.prefetch")
_FMA = Op.get("tirx.fma")


def for_wasm(function: tirx.PrimFunc, *, exact: bool) -> tirx.PrimFunc:
    """Returns the function without prefetches, and with arithmetic in place of casts from float16.

    LLVM makes a call of each cast, which takes four times the whole inference.

    Args:
        function: the kernel.
        exact: True to round a fused multiply-add once, as other processors do, which takes float64.
    """
    body = tvm_ffi.structural_map(function.body, (tirx.Evaluate, _without_prefetch))
    body = tvm_ffi.structural_map(body, (tirx.Cast, _widened))
    return function.with_body(tvm_ffi.structural_map(body, (Call, _fused)) if exact else body)


def _without_prefetch(statement: tirx.Evaluate) -> Any:
    # Constants have no operation.
    operation = getattr(statement.value, "op", None)
    return tirx.Evaluate(T.int32(0)) if operation == _PREFETCH else statement


def _fused(call: Call) -> Any:
    """Returns a fused multiply-add in float64, where the product is exact; the sum is rounded there first."""
    if call.op != _FMA or _type(call) != "float32":
        return call
    factor, other, addend = (T.cast(argument, "float64") for argument in call.args)
    return T.cast(factor * other + addend, "float32")


def _widened(cast: tirx.Cast) -> Any:
    """Returns the number by bits, if it is finite: a longer mantissa, and another bias of the exponent."""
    if (_type(cast.value), _type(cast)) != ("float16", "float32"):
        return cast
    bits = T.cast(T.reinterpret("uint16", cast.value), "int32")
    magnitude = T.reinterpret("float32", T.shift_left(T.bitwise_and(bits, T.int32(0x7FFF)), T.int32(13)))
    # Subnormal numbers become normal ones.
    scaled = T.reinterpret("int32", magnitude * T.float32(2.0**112))
    sign = T.shift_left(T.bitwise_and(bits, T.int32(0x8000)), T.int32(16))
    return T.reinterpret("float32", T.bitwise_or(scaled, sign))


def _type(value: Any) -> str:
    return str(value.ty)
