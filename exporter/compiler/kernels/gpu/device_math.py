"""Elementary functions for GPU kernels that stay exact under fast math; otherwise as `vector_math`.

The tricks of `vector_math` need additions that the compiler leaves alone. Here integers are rounded by
`floor`, and multiples of pi and ln 2 are taken off in parts by the device's own `fma`, which is rounded once
on Metal and CUDA under all options, and which no compiler takes apart to merge the parts again.
"""

import math
from collections.abc import Sequence

from tvm.script import tirx as T
from tvm.tirx import Expr

from exporter.compiler.kernels.vector_math import EXP_SERIES, SINE_FIT, TANH_FIT, leaky_relu, two_floats

__all__ = ["cos", "exp", "gelu_new", "leaky_relu", "multiply_add", "sigmoid", "sin", "snake", "tanh"]

_PI, _LN2 = two_floats(math.pi), two_floats(math.log(2.0))
_LARGEST = 88.0
"""Arguments of e**x are limited to -87..88, where the result is a normal number."""


def _polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Polynomial in x, coefficients of the lowest order first."""
    value = T.float32(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + T.float32(coefficient)
    return value


def _without(x: Expr, count: Expr, parts: Sequence[float]) -> Expr:
    """Returns x - count * sum(parts), rounded once for each part."""
    for part in parts:
        x = T.call_pure_extern("float32", "fma", count, T.float32(-part), x)
    return x


def exp(x: Expr) -> Expr:
    """e**x, at most 2 ulp off for -87 <= x <= 88, and the value at the nearer end elsewhere."""
    x = T.min(T.max(x, T.float32(1 - _LARGEST)), T.float32(_LARGEST))
    power = T.floor(x * T.float32(1 / math.log(2.0)) + T.float32(0.5))
    scale = T.reinterpret("float32", T.shift_left(T.cast(power, "int32") + T.int32(127), T.int32(23)))
    return _polynomial(_without(x, power, _LN2), EXP_SERIES) * scale


def sigmoid(x: Expr) -> Expr:
    """1 / (1 + e**-x)."""
    return T.float32(1) / (T.float32(1) + exp(-x))


def tanh(x: Expr) -> Expr:
    """Hyperbolic tangent, accurate near 0 as well."""
    size, square = T.abs(x), x * x
    small = x * square * _polynomial(square, TANH_FIT) + x
    large = T.float32(1) - T.float32(2) / (T.float32(1) + exp(size + size))
    return T.Select(size < T.float32(0.5625), small, T.Select(x < T.float32(0), -large, large))


def gelu_new(x: Expr) -> Expr:
    """ALBERT's GELU, as `vector_math.gelu_new`."""
    scale = 2 * math.sqrt(2 / math.pi)
    return x / (T.float32(1) + exp(-x * (x * x * T.float32(0.044715 * scale) + T.float32(scale))))


def snake(x: Expr, alpha: Expr, inverse_alpha: Expr) -> Expr:
    """Snake activation x + inverse_alpha * sin(alpha * x)**2."""
    angle = x * alpha
    turns = T.floor(angle * T.float32(1 / math.pi) + T.float32(0.5))
    sine = _quarter_sine(_without(angle, turns, _PI))
    return x + inverse_alpha * (sine * sine)


def sin(x: Expr) -> Expr:
    """Sine, off by at most 1.2e-7 for |x| <= 5000."""
    turns = T.floor(x * T.float32(1 / math.pi) + T.float32(0.5))
    return _alternate(_quarter_sine(_without(x, turns, _PI)), turns)


def cos(x: Expr) -> Expr:
    """Cosine, likewise."""
    turns = T.floor(x * T.float32(1 / math.pi) + T.float32(1))
    return _alternate(_quarter_sine(_without(x, turns - T.float32(0.5), _PI)), turns)


def _quarter_sine(x: Expr) -> Expr:
    """Sine of |x| <= pi/2."""
    square = x * x
    return x * square * _polynomial(square, SINE_FIT) + x


def _alternate(value: Expr, turns: Expr) -> Expr:
    """The negative value after an odd number of half turns."""
    odd = turns - T.float32(2) * T.floor(turns * T.float32(0.5))
    return T.Select(odd > T.float32(0.5), -value, value)


def multiply_add(x: Expr, factor: Expr, addend: Expr) -> Expr:
    """Returns x * factor + addend; the device's compiler decides whether that is rounded once."""
    return x * factor + addend
