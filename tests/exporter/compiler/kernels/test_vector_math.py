"""Every function of vector_math against numpy in extended precision, on each CPU level of this machine."""

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from tests.support.kernels import on_cpu
from tests.support.kernels.on_cpu import Array, every_level

LANES = 16
PI = 4 * np.arctan(np.longdouble(1))


def unary(name: str) -> PrimFunc:
    function = getattr(vector_math, name)

    @T.prim_func(private=True, s_tir=True)
    def apply(x_handle: T.handle, y_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_handle, (n, LANES), "float32")
        y = T.match_buffer(y_handle, (n, LANES), "float32")
        for row in T.serial(n):
            for lane in T.vectorized(LANES):
                y[row, lane] = function(x[row, lane])

    return apply


def ternary(name: str) -> PrimFunc:
    functions: dict[str, Callable[..., object]] = {
        "atan2": lambda a, b, c: vector_math.atan2(a, b),
        "leaky_relu": lambda a, b, c: vector_math.leaky_relu(a, 0.1),
        "snake": vector_math.snake,
    }
    function = functions[name]

    @T.prim_func(private=True, s_tir=True)
    def apply(a_handle: T.handle, b_handle: T.handle, c_handle: T.handle, y_handle: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        a = T.match_buffer(a_handle, (n, LANES), "float32")
        b = T.match_buffer(b_handle, (n, LANES), "float32")
        c = T.match_buffer(c_handle, (n, LANES), "float32")
        y = T.match_buffer(y_handle, (n, LANES), "float32")
        for row in T.serial(n):
            for lane in T.vectorized(LANES):
                y[row, lane] = function(a[row, lane], b[row, lane], c[row, lane])

    return apply


def kernel_of(name: str) -> Callable[[str], PrimFunc]:
    return ternary if name in ("atan2", "leaky_relu", "snake") else unary


def call(name: str, level: str, *arguments: Array) -> Array:
    """The function's values at all points of the arguments, whatever their number."""
    size = arguments[0].size
    rows = [np.resize(argument, (-(-size // LANES), LANES)) for argument in arguments]
    kernel = on_cpu.build(level, kernel_of(name), name)
    return on_cpu.call(kernel, rows[0].shape, *rows).reshape(-1)[:size]


def largest_ulps(values: Array, exact: NDArray[np.longdouble]) -> float:
    """The largest error in units of the last place of the exact value."""
    return float(np.max(np.abs(values - exact) / np.spacing(np.abs(exact.astype(np.float32)))))


def largest_error(values: Array, exact: NDArray[np.longdouble]) -> float:
    return float(np.max(np.abs(values - exact)))


def grid(low: float, high: float, points: int = 1_000_001) -> Array:
    return np.linspace(low, high, points, dtype=np.float32)


def small_values() -> Array:
    positive = np.logspace(-37, 0, 200_001).astype(np.float32)
    return np.concatenate([-positive, positive])


@pytest.mark.parametrize(
    "name", ["exp", "sigmoid", "tanh", "gelu_new", "sin", "cos", "atan2", "leaky_relu", "snake"]
)
@every_level
def test_compiles_to_vector_code_without_calls(name: str, level: str) -> None:
    assembly = on_cpu.assembly(kernel_of(name)(name), level)
    body = assembly[assembly.index("kernel_compute_:") :]
    body = body[: body.index(".Lfunc_end")]
    registers = re.findall(r"\bv\w+p[sd]\b.*%([yz])mm", body)
    assert set(registers) == ({"z"} if level == "x86-64-v4" else {"y"}) or name in ("sin", "cos", "atan2")
    assert not re.search(r"\bcall", body)
    # Arithmetic on single numbers would mean that a lane is computed by itself.
    assert not re.search(r"\bv(add|sub|mul|div|fn?m(add|sub)\d+)s[sd]\b", body)


EXACT: dict[str, Callable[[NDArray[np.longdouble]], NDArray[np.longdouble]]] = {
    "exp": np.exp,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


@every_level
@pytest.mark.parametrize(
    ("name", "ranges", "ulps"),
    [
        ("exp", (grid(-87, 88.72), grid(-1, 1), small_values()), 1),
        ("sigmoid", (grid(-87, 90), grid(-2, 2)), 2.5),
        ("tanh", (grid(-12, 12), grid(-0.6, 0.6), small_values()), 1.6),
    ],
    ids=EXACT,
)
def test_exponentials_are_within_a_few_ulp(
    level: str, name: str, ranges: tuple[Array, ...], ulps: float
) -> None:
    for x in ranges:
        assert largest_ulps(call(name, level, x), EXACT[name](x.astype(np.longdouble))) < ulps


@every_level
def test_exp_underflows_gradually(level: str) -> None:
    x = grid(-110, -87)
    assert largest_error(call("exp", level, x), np.exp(x.astype(np.longdouble))) < 1.5e-45


@every_level
def test_exponentials_saturate_and_keep_nan(level: str) -> None:
    x = np.array([np.inf, 1e30, 88.8, 0, -0.0, -104, -1e30, -np.inf, np.nan, -np.nan], np.float32)
    expected = np.array([np.inf, np.inf, np.inf, 1, 1, 0, 0, 0, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(call("exp", level, x), expected)
    for name, values in (("sigmoid", [1, 1, 0.5, 0, 0, np.nan]), ("tanh", [1, 1, 0, -1, -1, np.nan])):
        x = np.array([np.inf, 1e30, 0, -1e30, -np.inf, np.nan], np.float32)
        np.testing.assert_array_equal(call(name, level, x), np.array(values, np.float32))


@every_level
def test_gelu_new_is_close_on_both_sides(level: str) -> None:
    def exact(x: Array) -> NDArray[np.longdouble]:
        wide = x.astype(np.longdouble)
        return wide / (1 + np.exp(-np.sqrt(8 / PI) * (wide + np.longdouble("0.044715") * wide**3)))

    positive, negative = grid(0, 20), grid(-20, 0)
    assert largest_ulps(call("gelu_new", level, positive), exact(positive)) < 2
    assert largest_error(call("gelu_new", level, negative), exact(negative)) < 5e-8


# Extended precision takes most of the time, so the levels share its values.
@lru_cache(maxsize=1)
def exact_angles(name: str) -> list[tuple[Array, NDArray[np.longdouble]]]:
    """Angles and their sines or cosines."""
    random = np.random.default_rng(0)
    near_zeros = (np.arange(400_000) * (PI / 2)).astype(np.float32)
    far = random.uniform(-2e7, 2e7, 1_000_000).astype(np.float32)
    angles = (grid(-20, 20), far, near_zeros, small_values())
    return [(x, getattr(np, name)(x.astype(np.longdouble))) for x in angles]


@every_level
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_rounded_once_up_to_twenty_million(name: str, level: str) -> None:
    for x, exact in exact_angles(name):
        assert largest_ulps(call(name, level, x), exact) < 0.501


@lru_cache(maxsize=1)
def exact_sines(size: float) -> tuple[Array, NDArray[np.longdouble]]:
    """Angles up to a size and the magnitudes of their sines."""
    angle = np.random.default_rng(1).uniform(-size, size, 1_000_000).astype(np.float32)
    return angle, np.abs(np.sin(angle.astype(np.longdouble)))


@every_level
@pytest.mark.parametrize("size", [10, 1e3, 1e4, 1e6])
def test_the_sine_of_snake_is_within_float32_noise(level: str, size: float) -> None:
    angle, exact = exact_sines(size)
    one = np.ones_like(angle)
    # With alpha = 2**-40 and its inverse scaled down, sin**2 stands alone beside a negligible x.
    squares = call("snake", level, angle * np.float32(2**-80), one * np.float32(2**80), one)
    assert float(np.max(np.abs(np.sqrt(squares.astype(np.longdouble)) - exact)[exact > 0.1])) < 1.5e-7


@every_level
def test_snake_adds_the_scaled_square_to_its_argument(level: str) -> None:
    random = np.random.default_rng(2)
    x = random.uniform(-30, 30, 100_000).astype(np.float32)
    alpha = random.uniform(0.05, 20, x.size).astype(np.float32)
    inverse = (1 / alpha).astype(np.float32)
    exact = x + inverse.astype(np.longdouble) * np.sin((x * alpha).astype(np.longdouble)) ** 2
    allowed = np.spacing(np.abs(exact.astype(np.float32))) / 2 + 4e-7 * inverse
    assert np.all(np.abs(call("snake", level, x, alpha, inverse) - exact) <= allowed)


@every_level
def test_leaky_relu_scales_only_what_is_negative(level: str) -> None:
    x = grid(-3, 3)
    expected = np.where(x > 0, x, x * np.float32(0.1))
    np.testing.assert_array_equal(call("leaky_relu", level, x, x, x), expected)


@every_level
def test_atan2_is_rounded_once(level: str) -> None:
    random = np.random.default_rng(3)
    x, y = random.standard_normal((2, 1_000_000)).astype(np.float32)
    y *= (10 ** random.uniform(-9, 9, y.size)).astype(np.float32)
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert largest_ulps(call("atan2", level, y, x, x), exact) < 0.501


@every_level
def test_atan2_equals_ieee_at_the_axes_and_at_extreme_values(level: str) -> None:
    values = np.array([0.0, 1e-45, 1e-38, 1, 3e38], np.float32)
    x, y = (axis.reshape(-1) for axis in np.meshgrid(*[np.concatenate([-values, values])] * 2))
    expected = np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(call("atan2", level, y, x, x).view(np.int32), expected.view(np.int32))


@every_level
def test_the_angle_of_a_negative_number_with_imaginary_plus_zero_is_plus_pi(level: str) -> None:
    x = -np.logspace(-30, 30, 1000).astype(np.float32)
    assert set(call("atan2", level, np.zeros_like(x), x, x).tolist()) == {float(np.float32(np.pi))}
