"""Products of pairs of bfloat16, which processors with AVX512-BF16 sum in float32.

A bfloat16 has the exponent of a float32 and 8 bits of its mantissa. A *pair* is an int32 with two of them,
the first in its lower half. One instruction multiplies 16 pairs by 16 others and adds both products of each
to a float32 sum. The instructions read and write subnormal numbers as 0.
"""

from typing import Any

from tvm.script import tirx as T

LANES = 16
"""Float32 lanes of the instructions."""
_ADD, _HALVES, _PAIRS = "add_pairs", "bfloat16_halves", "bfloat16_pairs"
_INTERLEAVED = ", ".join(f"i32 {lane}, i32 {LANES + lane}" for lane in range(LANES))
# TVM 0.27 turns every value of bfloat16 into one of float32, so these are in LLVM's own language.
LLVM = f"""
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
  %y = shufflevector <32 x bfloat> %x, <32 x bfloat> poison, <32 x i32> <{_INTERLEAVED}>
  %r = bitcast <32 x bfloat> %y to <16 x i32>
  ret <16 x i32> %r
}}
"""
"""Source of the functions, for the pragma ``import_llvm`` of a kernel that calls them."""


def halves(values: Any) -> Any:
    """Returns the nearest bfloat16 of each value, ties to even, as uint16x16.

    Args:
        values: float32x16.
    """
    return T.call_pure_extern("uint16x16", _HALVES, values)


def pairs(first: Any, second: Any) -> Any:
    """Returns the pairs of the nearest bfloat16 of two values each, as int32x16.

    Args:
        first: float32x16, the lower halves.
        second: float32x16.
    """
    return T.call_pure_extern("int32x16", _PAIRS, first, second)


def add_products(total: Any, factors: Any, samples: Any) -> Any:
    """Returns sums plus the products of 16 pairs and one other, by which all are multiplied, as float32x16.

    Args:
        total: float32x16.
        factors: int32x16.
        samples: int32.
    """
    return T.call_pure_extern("float32x16", _ADD, total, factors, T.broadcast(samples, LANES))
