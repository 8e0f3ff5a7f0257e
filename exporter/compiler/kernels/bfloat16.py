"""Products of pairs of bfloat16, which processors with AVX512-BF16 or Arm's BF16 sum in float32.

A bfloat16 has the exponent of a float32 and 8 bits of its mantissa. A *pair* is an int32 with two of them,
the first in its lower half. One instruction multiplies as many pairs as a register holds by as many others
and adds both products of each to a float32 sum. The instructions read and write subnormal numbers as 0.
"""

from typing import Any

from tvm.script import tirx as T

_ADD, _HALVES, _PAIRS = "add_pairs", "bfloat16_halves", "bfloat16_pairs"


def _interleaved(lanes: int) -> str:
    """Returns the lanes of two registers in turn."""
    return ", ".join(f"i32 {lane}, i32 {lanes + lane}" for lane in range(lanes))


# TVM 0.27 turns every value of bfloat16 into one of float32, so these are in LLVM's own language.
_AVX512 = f"""
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
declare <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float>)
declare <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float>, <16 x float>)
define internal <16 x float> @{_ADD}(<16 x float> %sum, <16 x i32> %a, <16 x i32> %b) alwaysinline {{
  %x = bitcast <16 x i32> %a to <32 x bfloat>
  %y = bitcast <16 x i32> %b to <32 x bfloat>
  %r = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
    <16 x float> %sum, <32 x bfloat> %x, <32 x bfloat> %y)
  ret <16 x float> %r
}}
define internal <16 x i16> @{_HALVES}(<16 x float> %a) alwaysinline {{
  %x = call <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512(<16 x float> %a)
  %r = bitcast <16 x bfloat> %x to <16 x i16>
  ret <16 x i16> %r
}}
define internal <16 x i32> @{_PAIRS}(<16 x float> %first, <16 x float> %second) alwaysinline {{
  %x = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %second, <16 x float> %first)
  %y = shufflevector <32 x bfloat> %x, <32 x bfloat> poison, <32 x i32> <{_interleaved(16)}>
  %r = bitcast <32 x bfloat> %y to <16 x i32>
  ret <16 x i32> %r
}}
"""
# BFMMLA, of twice as many products, wants squares of two columns and two channels.
_NEON = f"""
declare <4 x float> @llvm.aarch64.neon.bfdot.v4f32.v8bf16(<4 x float>, <8 x bfloat>, <8 x bfloat>)
define internal <4 x float> @{_ADD}(<4 x float> %sum, <4 x i32> %a, <4 x i32> %b) alwaysinline {{
  %x = bitcast <4 x i32> %a to <8 x bfloat>
  %y = bitcast <4 x i32> %b to <8 x bfloat>
  %r = call <4 x float> @llvm.aarch64.neon.bfdot.v4f32.v8bf16(
    <4 x float> %sum, <8 x bfloat> %x, <8 x bfloat> %y)
  ret <4 x float> %r
}}
define internal <4 x i16> @{_HALVES}(<4 x float> %a) alwaysinline {{
  %x = fptrunc <4 x float> %a to <4 x bfloat>
  %r = bitcast <4 x bfloat> %x to <4 x i16>
  ret <4 x i16> %r
}}
define internal <4 x i32> @{_PAIRS}(<4 x float> %first, <4 x float> %second) alwaysinline {{
  %x = fptrunc <4 x float> %first to <4 x bfloat>
  %y = fptrunc <4 x float> %second to <4 x bfloat>
  %z = shufflevector <4 x bfloat> %x, <4 x bfloat> %y, <8 x i32> <{_interleaved(4)}>
  %r = bitcast <8 x bfloat> %z to <4 x i32>
  ret <4 x i32> %r
}}
"""
LLVM = {16: _AVX512, 4: _NEON}
"""Source of the functions, by float32 lanes of a register, for the pragma ``import_llvm`` of a kernel."""


def halves(values: Any, lanes: int) -> Any:
    """Returns the nearest bfloat16 of each value, ties to even, as uint16 ``[lanes]``.

    Args:
        values: float32 ``[lanes]``.
        lanes: float32 lanes of a register.
    """
    return T.call_pure_extern(f"uint16x{lanes}", _HALVES, values)


def pairs(first: Any, second: Any, lanes: int) -> Any:
    """Returns the pairs of the nearest bfloat16 of two values each, as int32 ``[lanes]``.

    Args:
        first: float32 ``[lanes]``, the lower halves.
        second: float32 ``[lanes]``.
        lanes: float32 lanes of a register.
    """
    return T.call_pure_extern(f"int32x{lanes}", _PAIRS, first, second)


def add_products(total: Any, factors: Any, samples: Any, lanes: int) -> Any:
    """Returns sums plus the products of some pairs and one other, by which all are multiplied.

    Args:
        total: float32 ``[lanes]``, as is the result.
        factors: int32 ``[lanes]``.
        samples: int32.
        lanes: float32 lanes of a register.
    """
    return T.call_pure_extern(f"float32x{lanes}", _ADD, total, factors, T.broadcast(samples, lanes))
