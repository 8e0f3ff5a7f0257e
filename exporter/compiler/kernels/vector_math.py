"""Elementary functions as TIR expressions that stay vector code.

TVM lowers `T.exp` and its like to scalar libm calls, a hundred times slower than the multiply-adds around
them. The functions here use nothing but arithmetic, comparisons, selections and bit patterns, so that a
`T.vectorized` loop over them becomes vector instructions on every target with a fused multiply-add. They take
and return scalar float32 expressions.

An expression is a tree: an argument that is itself a long expression is copied into every place that uses it.
Store intermediate results in a local buffer rather than nesting these functions deeply.

The errors stated were measured against numpy in extended precision
(`tests/exporter/compiler/kernels/test_vector_math.py`).
"""

import math
from collections.abc import Sequence

import numpy as np
from tvm.script import tirx as T
from tvm.tirx import Expr
from tvm.tirx.op import fma

# Adding and subtracting 1.5 * 2**(bits of the mantissa) rounds to the nearest integer, ties to even; the low
# bits of the sum hold that integer. The sum must be an fma: TVM simplifies (x + c) - c to x, even in floats.
_ROUNDER_32 = float(1.5 * 2**23)
_ROUNDER_32_BITS = int(np.float32(_ROUNDER_32).view(np.int32))
_ROUNDER_64 = float(1.5 * 2**52)


def two_floats(value: float) -> tuple[float, float]:
    """Splits a float64 into a float32 and a float32 remainder."""
    high = float(np.float32(value))
    return high, float(np.float32(value - high))


LN2_HIGH, _LN2_LOW = two_floats(math.log(2.0))
PI_HIGH, _PI_LOW = two_floats(math.pi)
# float64's own remainder of pi: sin(float64(pi)) is that remainder to all digits.
_PI_64_LOW = 1.2246467991473532e-16

# Taylor series of exp, order 0 first: on |r| <= ln(2)/2 the rest is below 6e-9 relative.
EXP_SERIES = [1.0 / math.factorial(order) for order in range(8)]
# (tanh(r)/r - 1)/r**2 in powers of r**2 on |r| < 0.5625: Remez, relative error of tanh 1.3e-9.
TANH_FIT = [
    -0.3333331451233297, 0.13332471357567843, -0.05383924673212693,
    0.021014278440760575, -0.00618863961313245,
]  # fmt: skip
# (sin(r)/r - 1)/r**2 in powers of r**2 on |r| <= pi/2: Remez, relative error of sin 4.8e-9.
SINE_FIT = [-0.1666666046237391, 0.00833308816736082, -0.00019811112755755737, 2.6089326705039523e-06]
# Taylor series of sin(r)/r in powers of r**2: on |r| <= pi/2 the rest is below 5e-12.
_SIN = [(-1.0) ** order / math.factorial(2 * order + 1) for order in range(8)]
# atan(r)/r in powers of r**2 on [0, 1]: Remez, relative error 5.9e-11.
_ATAN = [
    0.9999999999412362, -0.3333333157121394, 0.19999912051724458, -0.14283980767154147,
    0.11093241340289965, -0.08980239530293962, 0.07245719635054404, -0.054279132457616654,
    0.03420963775669538, -0.01611170166868233, 0.004850942100452624, -0.0006847939048577094,
]  # fmt: skip


def _horner(x: Expr, coefficients: Sequence[float], dtype: str) -> Expr:
    """Polynomial in x, coefficients of the lowest order first, by fused multiply-adds."""
    constant = {"float32": T.float32, "float64": T.float64}[dtype]
    value = constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = fma(value, x, constant(coefficient))
    return value


def exp(x: Expr) -> Expr:
    """e**x: at most 1 ulp off; inf above 88.723, 0 below -103.98, subnormals between, NaN stays NaN."""
    # Written so that a NaN fails the comparison and is kept.
    x = T.Select(x > T.float32(89), T.float32(89), x)
    x = T.Select(x < T.float32(-105), T.float32(-105), x)
    shifted = fma(x, T.float32(1 / math.log(2.0)), T.float32(_ROUNDER_32))
    power = shifted - T.float32(_ROUNDER_32)
    rest = fma(power, T.float32(-_LN2_LOW), fma(power, T.float32(-LN2_HIGH), x))
    # 2**power reaches beyond float32's exponents, so it is applied in two factors.
    integer_power = T.reinterpret("int32", shifted) - T.int32(_ROUNDER_32_BITS)
    half = T.shift_right(integer_power, T.int32(1))
    return _horner(rest, EXP_SERIES, "float32") * _power_of_two(half) * _power_of_two(integer_power - half)


def _power_of_two(exponent: Expr) -> Expr:
    """2**exponent for an int32 exponent in -126..127, from the bits of the float32."""
    return T.reinterpret("float32", T.shift_left(exponent + T.int32(127), T.int32(23)))


def sigmoid(x: Expr) -> Expr:
    """1 / (1 + e**-x): at most 2.5 ulp off; 0 below -88.8."""
    return T.float32(1) / (T.float32(1) + exp(-x))


def tanh(x: Expr) -> Expr:
    """Hyperbolic tangent: at most 1.6 ulp off, near 0 as well; -0 gives +0."""
    size = T.abs(x)
    square = x * x
    small = fma(x * square, _horner(square, TANH_FIT, "float32"), x)
    large = T.float32(1) - T.float32(2) / (T.float32(1) + exp(size + size))
    return T.Select(size < T.float32(0.5625), small, T.Select(x < T.float32(0), -large, large))


def gelu_new(x: Expr) -> Expr:
    """ALBERT's GELU, x/2 * (1 + tanh(u)) with u = sqrt(2/pi) * (x + 0.044715 x**3).

    At most 2 ulp off for x >= 0, at most 5e-8 for x < 0. Computed as x / (1 + e**-2u), which is the same and
    loses no digits where tanh(u) is near -1.
    """
    scale = 2 * math.sqrt(2 / math.pi)
    twice_u = x * fma(x * x, T.float32(0.044715 * scale), T.float32(scale))
    return x / (T.float32(1) + exp(-twice_u))


def leaky_relu(x: Expr, negative_slope: float) -> Expr:
    """`x` where it is positive, negative_slope * x elsewhere."""
    return T.Select(x > T.float32(0), x, x * T.float32(negative_slope))


def snake(x: Expr, alpha: Expr, inverse_alpha: Expr) -> Expr:
    """Snake activation x + inverse_alpha * sin(alpha*x)**2, in float32 throughout.

    The sine of the float32 product alpha*x is off by at most 1.5e-7 for |alpha*x| < 1e6. Its sign does not
    matter, so the argument is reduced by multiples of pi.
    """
    angle = x * alpha
    turns = fma(angle, T.float32(1 / math.pi), T.float32(_ROUNDER_32)) - T.float32(_ROUNDER_32)
    # The first subtraction is exact: both terms are multiples of 2**-22 and their difference is below 2.
    rest = fma(turns, T.float32(-_PI_LOW), fma(turns, T.float32(-PI_HIGH), angle))
    square = rest * rest
    sine = fma(rest * square, _horner(square, SINE_FIT, "float32"), rest)
    return fma(inverse_alpha, sine * sine, x)


def sin(x: Expr) -> Expr:
    """Sine, computed in float64 and rounded once: at most 0.501 ulp off for |x| <= 2e7."""
    angle = T.cast(x, "float64")
    shifted = fma(angle, T.float64(1 / math.pi), T.float64(_ROUNDER_64))
    half_turns = shifted - T.float64(_ROUNDER_64)
    return _reduced_sine(angle, half_turns, shifted)


def cos(x: Expr) -> Expr:
    """Cosine, computed in float64 and rounded once: at most 0.501 ulp off for |x| <= 2e7."""
    angle = T.cast(x, "float64")
    shifted = fma(fma(angle, T.float64(1 / math.pi), T.float64(0.5)), T.float64(1), T.float64(_ROUNDER_64))
    half_turns = fma(shifted - T.float64(_ROUNDER_64), T.float64(1), T.float64(-0.5))
    return _reduced_sine(angle, half_turns, shifted)


def _reduced_sine(angle: Expr, half_turns: Expr, shifted: Expr) -> Expr:
    """sin(angle - half_turns*pi) of an argument within pi/2, negated where `shifted` is odd, as float32."""
    rest = fma(half_turns, T.float64(-_PI_64_LOW), fma(half_turns, T.float64(-math.pi), angle))
    sine = rest * _horner(rest * rest, _SIN, "float64")
    # The lowest bit of the shifted value is set if the number of half turns is odd; it becomes the sign.
    sign = T.shift_left(T.reinterpret("int64", shifted), T.int64(63))
    return T.cast(T.reinterpret("float64", T.bitwise_xor(T.reinterpret("int64", sine), sign)), "float32")


def atan2(y: Expr, x: Expr) -> Expr:
    """Angle of the point (x, y), both finite, computed in float64: at most 0.501 ulp off.

    Signed zeros as in IEEE 754: y = +0 gives +0 for x > 0 or x = +0, and float32(pi) for x < 0 or x = -0.
    """
    width = T.cast(T.abs(x), "float64")
    height = T.cast(T.abs(y), "float64")
    longer = T.Select(height > width, height, width)
    shorter = T.Select(height > width, width, height)
    ratio = shorter / T.Select(longer > T.float64(0), longer, T.float64(1))
    angle = ratio * _horner(ratio * ratio, _ATAN, "float64")
    angle = T.Select(height > width, T.float64(math.pi / 2) - angle, angle)
    angle = T.Select(_is_negative(x), T.float64(math.pi) - angle, angle)
    return T.cast(T.Select(_is_negative(y), -angle, angle), "float32")


def _is_negative(x: Expr) -> Expr:
    """True if the sign bit of a float32 is set."""
    return T.reinterpret("int32", x) < T.int32(0)
