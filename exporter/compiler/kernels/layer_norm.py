"""Layer normalisation over the channels of channel-major activations [1, channels, n].

Time is contiguous, so a vector holds one channel at neighbouring time steps and statistics are vertical sums.
A job copies one block of time steps to a tile that stays in cache, normalises it there and writes it out.
"""

from collections.abc import Callable
from typing import Any

from tvm.script import tirx as T
from tvm.tirx import Expr, PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel_function, length

TIME_BLOCK = 16
"""Time steps of a job."""

PARTS = 4
"""Independent sums of a column, which hide the latency of an addition; the channels are a multiple of it."""


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


@T.inline
def _subtract_mean(tile: Any, channels: Any) -> None:
    """Subtracts each column's mean from the column."""
    sums = T.alloc_buffer((PARTS, TIME_BLOCK), "float32", scope="local")
    mean = T.alloc_buffer((TIME_BLOCK,), "float32", scope="local")
    for part in T.unroll(PARTS):
        for lane in T.vectorized(TIME_BLOCK):
            sums[part, lane] = T.float32(0)
    for group in T.serial(channels // PARTS):
        for part in T.unroll(PARTS):
            for lane in T.vectorized(TIME_BLOCK):
                sums[part, lane] += tile[group * PARTS + part, lane]
    for lane in T.vectorized(TIME_BLOCK):
        mean[lane] = _sum_of_parts(sums, lane) / T.float32(channels)
    for channel in T.serial(channels):
        for lane in T.vectorized(TIME_BLOCK):
            tile[channel, lane] -= mean[lane]


@T.inline
def _divide_by_deviation(tile: Any, channels: Any, epsilon: Any) -> None:
    """Divides each column, whose mean is zero, by sqrt(variance + epsilon)."""
    squares = T.alloc_buffer((PARTS, TIME_BLOCK), "float32", scope="local")
    scale = T.alloc_buffer((TIME_BLOCK,), "float32", scope="local")
    for part in T.unroll(PARTS):
        for lane in T.vectorized(TIME_BLOCK):
            squares[part, lane] = T.float32(0)
    for group in T.serial(channels // PARTS):
        for part in T.unroll(PARTS):
            for lane in T.vectorized(TIME_BLOCK):
                squares[part, lane] += tile[group * PARTS + part, lane] * tile[group * PARTS + part, lane]
    for lane in T.vectorized(TIME_BLOCK):
        scale[lane] = T.float32(1) / T.sqrt(
            _sum_of_parts(squares, lane) / T.float32(channels) + T.float32(epsilon)
        )
    for channel in T.serial(channels):
        for lane in T.vectorized(TIME_BLOCK):
            tile[channel, lane] *= scale[lane]


@T.inline
def _standardise(tile: Any, channels: Any, epsilon: Any) -> None:
    """Gives each column of the tile a mean of zero and a variance of one.

    The mean is taken off twice: the second time removes the first one's rounding error, so that a mean much
    larger than the deviation costs no digits (corrected two-pass algorithm of Chan, Golub and LeVeque, 1983).
    """
    _subtract_mean(tile, channels)
    _subtract_mean(tile, channels)
    _divide_by_deviation(tile, channels, epsilon)


def layer_norm_function(
    channels: int, normalise: Normalise, leaky_relu: Callable[[Expr, float], Expr], slope: float | None
) -> PrimFunc:
    """Returns a kernel of `layer_norm` that normalises by `normalise`; `slope` None is no activation."""
    n = length()

    def emit(x: Any, weight: Any, bias: Any, y: Any) -> None:
        def finish(value: Expr, channel: Expr) -> Expr:
            value = value * weight[channel] + bias[channel]
            return value if slope is None else leaky_relu(value, slope)

        normalise(x, y, n, finish)

    shape = (1, channels, n)
    return kernel_function(emit, {"x": shape, "weight": (channels,), "bias": (channels,), "y": shape})


def adaptive_layer_norm_function(channels: int, normalise: Normalise) -> PrimFunc:
    """Returns a kernel of `adaptive_layer_norm` that normalises by `normalise`."""
    n = length()

    def emit(x: Any, style: Any, y: Any) -> None:
        def finish(value: Expr, channel: Expr) -> Expr:
            return (T.float32(1) + style[0, channel]) * value + style[0, channels + channel]

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
            _standardise(tile, channels, epsilon)
            for channel in T.serial(channels):
                for lane in T.vectorized(TIME_BLOCK):
                    tile[channel, lane] = finish(tile[channel, lane], channel)
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
    return layer_norm_function(channels, normalise, vector_math.leaky_relu, leaky_slope)


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
    return adaptive_layer_norm_function(channels, _normalise(channels, epsilon))
