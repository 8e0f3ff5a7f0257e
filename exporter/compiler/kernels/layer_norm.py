"""Layer normalisation over the channels of channel-major activations [1, channels, n].

Time is contiguous, so a vector holds one channel at neighbouring time steps and statistics are vertical sums.
A job copies one block of time steps to a tile that stays in cache, normalises it there and writes it out.
"""

from collections.abc import Callable
from typing import Any

from tvm.script import tirx as T
from tvm.tirx import Expr, PrimFunc
from tvm.tirx.op import fma

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel_function, length

TIME_BLOCK = 16
"""Time steps of a job."""

PARTS = 4
"""Independent sums of a column, which hide the latency of an addition; the channels are a multiple of it."""
SHORT = 8
"""Terms of a part that are summed before they are added to the others."""


MultiplyAdd = Callable[[Expr, Expr, Expr], Expr]
"""Returns the first times the second plus the third, rounded once where the device can."""
Normalise = Callable[[Any, Any, Expr, Callable[[Expr, Expr], Expr]], None]
"""Emits y = finish(normalised x, channel) for all time steps; called with x, y, n and finish."""


def _blocks(n: Expr) -> Expr:
    """Returns the number of time blocks that cover n time steps."""
    return T.floordiv(n + (TIME_BLOCK - 1), TIME_BLOCK)


def _first_time(block: Expr, n: Expr) -> Expr:
    """The first time step of a block; the last block overlaps its neighbour rather than pass the end.

    Columns that both have are computed twice with equal results, so it does not matter which is written last.
    """
    return T.max(T.min(block * TIME_BLOCK, n - TIME_BLOCK), T.int64(0))


def _sum_of_parts(parts: Any, lane: Expr) -> Expr:
    """The sum of a column from its partial sums."""
    return (parts[0, lane] + parts[1, lane]) + (parts[2, lane] + parts[3, lane])


@T.inline
def _load(x: Any, tile: Any, channels: Any, first: Any, n: Any) -> None:
    """Copies the time steps from `first` to the tile; columns past the end of a short input become zero."""
    if n >= TIME_BLOCK:
        for channel in T.serial(channels):
            for lane in T.vectorized(TIME_BLOCK):
                tile[channel, lane] = x[0, channel, first + lane]
    else:
        for channel in T.serial(channels):
            for lane in T.vectorized(TIME_BLOCK):
                tile[channel, lane] = T.float32(0)
            for time in T.serial(n):
                tile[channel, time] = x[0, channel, time]


@T.inline
def _store(tile: Any, y: Any, channels: Any, first: Any, n: Any) -> None:
    """Writes the tile's columns to the time steps from `first`, as far as they exist."""
    if n >= TIME_BLOCK:
        for channel in T.serial(channels):
            for lane in T.vectorized(TIME_BLOCK):
                y[0, channel, first + lane] = tile[channel, lane]
    else:
        for channel in T.serial(channels):
            for time in T.serial(n):
                y[0, channel, time] = tile[channel, time]


def _value(tile: Any, mean: Any, channel: Expr, lane: Expr) -> Expr:
    return tile[channel, lane]


def _squared_deviation(tile: Any, mean: Any, channel: Expr, lane: Expr) -> Expr:
    return (tile[channel, lane] - mean[lane]) * (tile[channel, lane] - mean[lane])


@T.inline
def _average(tile: Any, channels: Any, mean: Any, value: Any, average: Any) -> None:
    """Sets the average of a value over each column, from short sums, which round less than one long sum."""
    parts = T.alloc_buffer((PARTS, TIME_BLOCK), "float32", scope="local")
    short = T.alloc_buffer((PARTS, TIME_BLOCK), "float32", scope="local")
    for part in T.unroll(PARTS):
        for lane in T.vectorized(TIME_BLOCK):
            parts[part, lane] = T.float32(0)
    for first in T.serial(-(-(channels // PARTS) // SHORT)):
        for part in T.unroll(PARTS):
            for lane in T.vectorized(TIME_BLOCK):
                short[part, lane] = T.float32(0)
        for group in T.serial(T.min(T.int64(SHORT), channels // PARTS - first * SHORT)):
            for part in T.unroll(PARTS):
                for lane in T.vectorized(TIME_BLOCK):
                    short[part, lane] += value(tile, mean, (first * SHORT + group) * PARTS + part, lane)
        for part in T.unroll(PARTS):
            for lane in T.vectorized(TIME_BLOCK):
                parts[part, lane] += short[part, lane]
    for lane in T.vectorized(TIME_BLOCK):
        average[lane] = _sum_of_parts(parts, lane) / T.float32(channels)


@T.inline
def _statistics(tile: Any, channels: Any, epsilon: Any, shift: Any, scale: Any) -> None:
    """Subtracts each column's mean; tile * scale + shift then has a mean of zero and a variance of one.

    The mean is taken twice: the second time it is the first one's rounding error, so that a mean much larger
    than the deviation costs no digits (corrected two-pass algorithm of Chan, Golub and LeVeque, 1983). It is
    taken off within the multiply-add, because bert amplifies each rounding a hundredfold.
    """
    mean = T.alloc_buffer((TIME_BLOCK,), "float32", scope="local")
    _average(tile, channels, mean, _value, mean)
    for channel in T.serial(channels):
        for lane in T.vectorized(TIME_BLOCK):
            tile[channel, lane] -= mean[lane]
    _average(tile, channels, mean, _value, mean)
    _average(tile, channels, mean, _squared_deviation, scale)
    for lane in T.vectorized(TIME_BLOCK):
        scale[lane] = T.float32(1) / T.sqrt(scale[lane] + T.float32(epsilon))
        shift[lane] = -mean[lane] * scale[lane]


def layer_norm_function(
    channels: int,
    normalise: Normalise,
    multiply_add: MultiplyAdd,
    leaky_relu: Callable[[Expr, float], Expr],
    slope: float | None,
) -> PrimFunc:
    """Returns a kernel of `layer_norm` that normalises by `normalise`; `slope` None is no activation."""
    n = length()

    def emit(x: Any, weight: Any, bias: Any, y: Any) -> None:
        def finish(value: Expr, channel: Expr) -> Expr:
            value = multiply_add(value, weight[channel], bias[channel])
            return value if slope is None else leaky_relu(value, slope)

        normalise(x, y, n, finish)

    shape = (1, channels, n)
    return kernel_function(emit, {"x": shape, "weight": (channels,), "bias": (channels,), "y": shape})


def adaptive_layer_norm_function(channels: int, normalise: Normalise, multiply_add: MultiplyAdd) -> PrimFunc:
    """Returns a kernel of `adaptive_layer_norm` that normalises by `normalise`."""
    n = length()

    def emit(x: Any, style: Any, y: Any) -> None:
        def finish(value: Expr, channel: Expr) -> Expr:
            return multiply_add(T.float32(1) + style[0, channel], value, style[0, channels + channel])

        normalise(x, y, n, finish)

    return kernel_function(emit, {"x": (1, channels, n), "style": (1, 2 * channels), "y": (1, channels, n)})


def _normalise(channels: int, epsilon: float) -> Any:
    """Returns a TIR macro that computes y = finish(normalised x, channel) for all time steps."""
    if channels <= 0 or channels % PARTS:
        raise ValueError(f"layer norm needs a positive multiple of {PARTS} channels, found {channels}")

    @T.inline
    def normalise(x: Any, y: Any, n: Any, finish: Any) -> None:
        for block in T.parallel(_blocks(n)):
            first: T.let = _first_time(block, n)
            tile = T.alloc_buffer((channels, TIME_BLOCK), "float32")
            _load(x, tile, channels, first, n)
            shift = T.alloc_buffer((TIME_BLOCK,), "float32", scope="local")
            scale = T.alloc_buffer((TIME_BLOCK,), "float32", scope="local")
            _statistics(tile, channels, epsilon, shift, scale)
            for channel in T.serial(channels):
                for lane in T.vectorized(TIME_BLOCK):
                    tile[channel, lane] = finish(fma(tile[channel, lane], scale[lane], shift[lane]), channel)
            _store(tile, y, channels, first, n)

    return normalise


def layer_norm(channels: int, epsilon: float, leaky_slope: float | None = None) -> PrimFunc:
    """Layer normalisation with a learned affine: activation(normalised * weight + bias).

    Buffers, float32: x [1, channels, n]; weight [channels]; bias [channels]; the output [1, channels, n].

    Args:
        channels: number of channels, a multiple of 4.
        epsilon: added to the variance.
        leaky_slope: negative slope of a leaky rectifier as the activation; None for no activation.

    Raises:
        ValueError: `channels` is not a multiple of 4.
    """
    normalise = _normalise(channels, epsilon)
    return layer_norm_function(channels, normalise, fma, vector_math.leaky_relu, leaky_slope)


def adaptive_layer_norm(channels: int, epsilon: float) -> PrimFunc:
    """StyleTTS 2's AdaLayerNorm, an affine from the style: (1 + gamma) * normalised + beta.

    Buffers, float32: x [1, channels, n]; style [1, 2 * channels], gamma and then beta; the output
    [1, channels, n].

    Args:
        channels: number of channels, a multiple of 4.
        epsilon: added to the variance.

    Raises:
        ValueError: `channels` is not a multiple of 4.
    """
    return adaptive_layer_norm_function(channels, _normalise(channels, epsilon), fma)
