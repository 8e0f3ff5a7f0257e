"""Products of bfloat16, which processors with AVX512-BF16 or Arm's BF16 sum in float32.

A bfloat16 has the exponent of a float32 and 8 bits of its mantissa. A *pair* is an int32 with two of them,
the first in its lower half. AVX-512 multiplies as many pairs as a register holds by as many others, and adds
both products of each to a float32 sum. Arm multiplies *squares*: a register with two rows of two pairs, by
another, and adds the products of each two rows to one of four sums. The instructions read and write subnormal
numbers as 0.
"""

from collections.abc import Sequence
from typing import Any

from tvm.script import tirx as T

_ADD, _HALVES = "add_bfloat16_products", "bfloat16_halves"
_PAIRS, _SQUARES = "bfloat16_pairs", "bfloat16_squares"


def _in_turn(registers: int, lanes: int) -> str:
    """Returns the indices of the first lane of each register, then of the second of each, and so on."""
    order = (register * lanes + lane for lane in range(lanes) for register in range(registers))
    return ", ".join(f"i32 {index}" for index in order)


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
  %y = shufflevector <32 x bfloat> %x, <32 x bfloat> poison, <32 x i32> <{_in_turn(2, 16)}>
  %r = bitcast <32 x bfloat> %y to <16 x i32>
  ret <16 x i32> %r
}}
"""
_NEON = f"""
declare <4 x float> @llvm.aarch64.neon.bfmmla(<4 x float>, <8 x bfloat>, <8 x bfloat>)
define internal <4 x float> @{_ADD}(<4 x float> %sum, <4 x i32> %a, <4 x i32> %b) alwaysinline {{
  %x = bitcast <4 x i32> %a to <8 x bfloat>
  %y = bitcast <4 x i32> %b to <8 x bfloat>
  %r = call <4 x float> @llvm.aarch64.neon.bfmmla(<4 x float> %sum, <8 x bfloat> %y, <8 x bfloat> %x)
  ret <4 x float> %r
}}
define internal <4 x i16> @{_HALVES}(<4 x float> %a) alwaysinline {{
  %x = fptrunc <4 x float> %a to <4 x bfloat>
  %r = bitcast <4 x bfloat> %x to <4 x i16>
  ret <4 x i16> %r
}}
define internal <8 x i32> @{_SQUARES}(
    <4 x float> %a, <4 x float> %b, <4 x float> %c, <4 x float> %d) alwaysinline {{
  %e = shufflevector <4 x float> %a, <4 x float> %b, <8 x i32> <{_in_turn(1, 8)}>
  %f = shufflevector <4 x float> %c, <4 x float> %d, <8 x i32> <{_in_turn(1, 8)}>
  %g = fptrunc <8 x float> %e to <8 x bfloat>
  %h = fptrunc <8 x float> %f to <8 x bfloat>
  %s = shufflevector <8 x bfloat> %g, <8 x bfloat> %h, <16 x i32> <{_in_turn(4, 4)}>
  %r = bitcast <16 x bfloat> %s to <8 x i32>
  ret <8 x i32> %r
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


def squares(values: Sequence[Any]) -> Any:
    """Returns two squares of the nearest bfloat16 of four registers, as int32 ``[8]``.

    A row of the first square has the first lanes of the registers, the other the second ones, and so on.

    Args:
        values: four of float32 ``[4]``.
    """
    return T.call_pure_extern("int32x8", _SQUARES, *values)


def add_products(total: Any, factors: Any, samples: Any, lanes: int) -> Any:
    """Returns sums plus products: of pairs with pairs, or of the rows of a square with those of another.

    Args:
        total: float32 ``[lanes]``, as is the result. On Arm the first two are of the first row of samples.
        factors: int32 ``[lanes]``.
        samples: int32 ``[lanes]``.
        lanes: float32 lanes of a register.
    """
    return T.call_pure_extern(f"float32x{lanes}", _ADD, total, factors, samples)
