"""Adaptive instance normalisation as an affine map for each channel: statistics over the whole length.

The next kernel that reads the tensor applies the map (`conv1d`, `winograd`, `phases`), so AdaIN itself writes
three numbers a channel. Statistics take two passes, because a one-pass variance loses its digits where |mean|
is much larger than std. The second pass also sums the deviations, whose mean is the error of the first pass's
mean (Chan, Golub and LeVeque, 1983).

gamma, beta = fc(style); y = (1 + gamma) * (weight * (x - mean) / sqrt(var + epsilon) + bias) + beta, with the
biased variance over the n time steps, is kokoro's `AdaIN1d`. Here it is y = (x - mean) * scale + shift.
Statistics of more than these time steps may be given: then a part of an utterance keeps its level.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.function import kernel_function, length

_LANES = 32
_SEGMENTS = 16
"""Parts of the time axis that cores sum independently."""
_ROWS = 64
"""Time steps of a block, which is read twice, the second time from the cache."""
_SIDE_BY_SIDE = 128
"""Channels summed together if they are last; with fewer, each addition would wait for the one before."""


class Arguments(NamedTuple):
    """The arguments of an AdaIN kernel; `affine` is the output, and `given` is there if it may be."""

    x: Any
    styles: Any
    fc_weight: Any
    fc_bias: Any
    weight: Any
    bias: Any
    affine: Any
    given: Any = None


def adain_function(
    channels: int, style_size: int, channels_last: bool, body: Callable[[Arguments, Any], None],
    weight_dtype: str = "float32", takes_statistics: bool = False,
) -> PrimFunc:  # fmt: skip
    """Returns a kernel that declares AdaIN's arguments and runs the macro `body(arguments, n)`.

    Arguments, float32 but `fc_weight`: x [1, channels, n], or [1, n, channels] with the channels last;
    styles [1, style_size]; fc_weight [2 * channels, style_size]; fc_bias [2 * channels]; weight [channels];
    bias [channels]; with `takes_statistics` given [2, channels]: mean and variance in place of those of x,
    where the variance is not negative; the output [3, channels]: mean, scale and shift.
    """
    n = length()
    shapes = {
        "x": (1, n, channels) if channels_last else (1, channels, n),
        "styles": (1, style_size),
        "fc_weight": (2 * channels, style_size),
        "fc_bias": (2 * channels,),
        "weight": (channels,),
        "bias": (channels,),
        **({"given": (2, channels)} if takes_statistics else {}),
        "affine": (3, channels),
    }
    return kernel_function(
        lambda **buffers: body(Arguments(**buffers), n), shapes, {"fc_weight": weight_dtype}
    )


def store_affine(
    arguments: Arguments, channel: Any, mean: Any, variance: Any, linear: Any, epsilon: float
) -> None:
    """Emits the stores of a channel's map; `linear` holds gamma and beta."""
    if arguments.given is not None:
        own = arguments.given[1, channel] < T.float32(0)
        mean = T.Select(own, mean, arguments.given[0, channel])
        variance = T.Select(own, variance, arguments.given[1, channel])
    gain = T.float32(1) + linear[0]
    scale = gain * arguments.weight[channel] / T.sqrt(variance + T.float32(epsilon))
    T.buffer_store(arguments.affine, mean, [0, channel])
    T.buffer_store(arguments.affine, scale, [1, channel])
    T.buffer_store(arguments.affine, gain * arguments.bias[channel] + linear[1], [2, channel])


def _sum_lanes(vectors: Any) -> None:
    """Emits the sums of the lanes of 2 * `_LANES` vectors into their first lanes, in pairs.

    Each step is done for all vectors before the next one, so that no addition waits for the one before it.
    """
    half = _LANES // 2
    while half:
        with T.serial(2 * _LANES) as vector, T.vectorized(half) as lane:
            T.buffer_store(vectors, vectors[vector, lane] + vectors[vector, half + lane], [vector, lane])
        half //= 2


def _write_affine(channels: int, style: int, epsilon: float) -> Any:
    """Returns a TIR macro that writes mean, scale and shift of `count` channels, at most `_LANES`."""
    if style % _LANES:
        raise ValueError(f"style size {style} is not a multiple of {_LANES}")

    @T.inline
    def write(arguments: Any, means: Any, variances: Any, first: Any, count: Any) -> None:
        products = T.alloc_buffer((2 * _LANES, _LANES), "float32", scope="local")
        linear = T.alloc_buffer((2,), "float32", scope="local")  # gamma, beta
        product = T.alloc_buffer((_LANES,), "float32", scope="local")
        for part, offset in T.grid(2, count):
            for lane in T.vectorized(_LANES):
                product[lane] = T.float32(0)
            for vector in T.serial(style // _LANES):
                for lane in T.vectorized(_LANES):
                    product[lane] = product[lane] + arguments.styles[0, vector * _LANES + lane] * T.cast(
                        arguments.fc_weight[part * channels + first + offset, vector * _LANES + lane],
                        "float32",
                    )
            for lane in T.vectorized(_LANES):
                products[part * _LANES + offset, lane] = product[lane]
        _sum_lanes(products)
        for offset in T.serial(count):
            for part in T.unroll(2):
                linear[part] = (
                    products[part * _LANES + offset, 0] + arguments.fc_bias[part * channels + first + offset]
                )
            store_affine(arguments, first + offset, means[offset], variances[offset], linear, epsilon)

    return write


@T.inline
def _load_rest(x: Any, rest: Any, first: Any, count: Any, n: Any) -> None:
    """Copies the last values of each channel, which fill no vector, and zeros behind them."""
    whole: T.let[T.int64] = T.floordiv(n, _LANES) * _LANES
    for offset in T.serial(count):
        for lane in T.vectorized(_LANES):
            rest[offset, lane] = T.float32(0)
        for lane in T.serial(n - whole):
            rest[offset, lane] = x[0, first + offset, whole + lane]


@T.inline
def _sum_channels(x: Any, rest: Any, sums: Any, means: Any, first: Any, count: Any, n: Any) -> None:
    """Sets sums[channel, 0] to the sum of deviations from means[channel], and below to that of squares."""
    partial = T.alloc_buffer((_LANES,), "float32", scope="local")
    squares = T.alloc_buffer((_LANES,), "float32", scope="local")
    deviation = T.alloc_buffer((_LANES,), "float32", scope="local")
    left: T.let[T.int64] = T.floormod(n, _LANES)
    for offset in T.serial(count):
        for lane in T.vectorized(_LANES):
            partial[lane] = T.Select(
                T.cast(lane, "int64") < left, rest[offset, lane] - means[offset], T.float32(0)
            )
        for lane in T.vectorized(_LANES):
            squares[lane] = partial[lane] * partial[lane]
        for vector in T.serial(T.floordiv(n, _LANES)):
            for lane in T.vectorized(_LANES):
                deviation[lane] = x[0, first + offset, vector * _LANES + lane] - means[offset]
                partial[lane] = partial[lane] + deviation[lane]
                squares[lane] = squares[lane] + deviation[lane] * deviation[lane]
        for lane in T.vectorized(_LANES):
            sums[offset, lane] = partial[lane]
            sums[_LANES + offset, lane] = squares[lane]
    _sum_lanes(sums)


def adain_affine(
    channels: int, style: int, epsilon: float, weight_dtype: str = "float32", takes_statistics: bool = False
) -> PrimFunc:
    """Returns the kernel for channels first; its arguments are those of `adain_function`."""
    write_affine = _write_affine(channels, style, epsilon)

    @T.inline
    def reduce_to_affine(arguments: Any, n: Any) -> None:
        for job in T.parallel(-(-channels // _LANES)):
            rest = T.alloc_buffer((_LANES, _LANES), "float32", scope="local")
            sums = T.alloc_buffer((2 * _LANES, _LANES), "float32", scope="local")
            means = T.alloc_buffer((_LANES,), "float32", scope="local")
            variances = T.alloc_buffer((_LANES,), "float32", scope="local")
            error = T.alloc_buffer((1,), "float32", scope="local")
            first: T.let = job * _LANES
            count: T.let = T.min(_LANES, channels - first)
            _load_rest(arguments.x, rest, first, count, n)
            for offset in T.serial(count):
                means[offset] = T.float32(0)
            _sum_channels(arguments.x, rest, sums, means, first, count, n)
            for offset in T.serial(count):
                means[offset] = sums[offset, 0] / T.cast(n, "float32")
            _sum_channels(arguments.x, rest, sums, means, first, count, n)
            for offset in T.serial(count):
                error[0] = sums[offset, 0] / T.cast(n, "float32")  # of the first pass's mean
                means[offset] = means[offset] + error[0]
                variances[offset] = sums[_LANES + offset, 0] / T.cast(n, "float32") - error[0] * error[0]
            write_affine(arguments, means, variances, first, count)

    return adain_function(channels, style, False, reduce_to_affine, weight_dtype, takes_statistics)


def _sum_block(lanes: int) -> Any:
    """Returns a TIR macro that sets means and summed squared deviations of a block of time, in float64."""

    @T.inline
    def sum_block(x: Any, first: Any, size: Any, channel: Any, mean: Any, squares: Any) -> None:
        partial = T.alloc_buffer((lanes,), "float32", scope="local")
        center = T.alloc_buffer((lanes,), "float32", scope="local")
        square = T.alloc_buffer((lanes,), "float32", scope="local")
        for lane in T.vectorized(lanes):
            partial[lane] = T.float32(0)
        for row in T.serial(size):
            for lane in T.vectorized(lanes):
                partial[lane] = partial[lane] + x[0, first + row, channel + lane]
        for lane in T.vectorized(lanes):
            center[lane] = partial[lane] / T.cast(size, "float32")
        for lane in T.vectorized(lanes):
            partial[lane] = T.float32(0)
            square[lane] = T.float32(0)
        for row in T.serial(size):
            for lane in T.vectorized(lanes):
                partial[lane] = partial[lane] + (x[0, first + row, channel + lane] - center[lane])
                square[lane] = square[lane] + (x[0, first + row, channel + lane] - center[lane]) * (
                    x[0, first + row, channel + lane] - center[lane]
                )
        for lane in T.vectorized(lanes):
            mean[lane] = T.cast(partial[lane], "float64") / T.cast(size, "float64")
        for lane in T.vectorized(lanes):
            squares[lane] = T.cast(square[lane], "float64") - mean[lane] * T.cast(partial[lane], "float64")
            mean[lane] = T.cast(center[lane], "float64") + mean[lane]

    return sum_block


def _merge(lanes: int) -> Any:
    """Returns a TIR macro that merges the statistics of `size` time steps into those of the `seen` before."""

    @T.inline
    def merge(
        means: Any, squares: Any, row: Any, group: Any, seen: Any, size: Any, mean: Any, square: Any
    ) -> None:
        share = T.alloc_buffer((1,), "float64", scope="local")
        share[0] = T.cast(size, "float64") / T.cast(seen + size, "float64")
        for lane in T.vectorized(lanes):
            mean[lane] = mean[lane] - means[row, group * lanes + lane]
        for lane in T.vectorized(lanes):
            squares[row, group * lanes + lane] = squares[row, group * lanes + lane] + (
                square[lane] + share[0] * T.cast(seen, "float64") * (mean[lane] * mean[lane])
            )
            means[row, group * lanes + lane] = means[row, group * lanes + lane] + share[0] * mean[lane]

    return merge


def adain_affine_channels_last(
    channels: int, style: int, epsilon: float, weight_dtype: str = "float32", takes_statistics: bool = False
) -> PrimFunc:
    """Returns the kernel for channels last, which reads x from memory once.

    The time axis is divided into `_SEGMENTS` segments, and each into blocks that stay in the cache. Their
    means and sums of squared deviations are merged in float64.
    """
    if channels % _LANES:
        raise ValueError(f"{channels} channels are not a multiple of {_LANES}")
    side = math.gcd(channels, _SIDE_BY_SIDE)
    write_affine, sum_block = _write_affine(channels, style, epsilon), _sum_block(side)
    merge_block, merge_segment = _merge(side), _merge(_LANES)

    @T.inline
    def reduce_to_affine(arguments: Any, n: Any) -> None:
        means = T.alloc_buffer((_SEGMENTS, channels), "float64", scope="global")
        squares = T.alloc_buffer((_SEGMENTS, channels), "float64", scope="global")
        for segment in T.parallel(_SEGMENTS):
            block_mean = T.alloc_buffer((side,), "float64", scope="local")
            block_square = T.alloc_buffer((side,), "float64", scope="local")
            first: T.let[T.int64] = T.floordiv(n * segment, _SEGMENTS)
            count: T.let[T.int64] = T.floordiv(n * (segment + 1), _SEGMENTS) - first
            for group in T.serial(channels // side):
                for lane in T.vectorized(side):
                    means[segment, group * side + lane] = T.float64(0)
                    squares[segment, group * side + lane] = T.float64(0)
            for block, group in T.grid(T.floordiv(count + (_ROWS - 1), _ROWS), channels // side):
                seen: T.let[T.int64] = block * _ROWS
                size: T.let[T.int64] = T.min(T.int64(_ROWS), count - seen)
                sum_block(arguments.x, first + seen, size, group * side, block_mean, block_square)
                merge_block(means, squares, segment, group, seen, size, block_mean, block_square)
        for group in T.parallel(channels // _LANES):
            mean = T.alloc_buffer((1, _LANES), "float64", scope="local")
            square = T.alloc_buffer((1, _LANES), "float64", scope="local")
            group_means = T.alloc_buffer((_LANES,), "float32", scope="local")
            variances = T.alloc_buffer((_LANES,), "float32", scope="local")
            segment_mean = T.alloc_buffer((_LANES,), "float64", scope="local")
            segment_square = T.alloc_buffer((_LANES,), "float64", scope="local")
            for lane in T.vectorized(_LANES):
                mean[0, lane] = T.float64(0)
                square[0, lane] = T.float64(0)
            for segment in T.serial(_SEGMENTS):
                begin: T.let[T.int64] = T.floordiv(n * segment, _SEGMENTS)
                length: T.let[T.int64] = T.floordiv(n * (segment + 1), _SEGMENTS) - begin
                if length > 0:
                    for lane in T.vectorized(_LANES):
                        segment_mean[lane] = means[segment, group * _LANES + lane]
                        segment_square[lane] = squares[segment, group * _LANES + lane]
                    merge_segment(mean, square, 0, 0, begin, length, segment_mean, segment_square)
            for lane in T.vectorized(_LANES):
                group_means[lane] = T.cast(mean[0, lane], "float32")
                variances[lane] = T.cast(square[0, lane] / T.cast(n, "float64"), "float32")
            write_affine(arguments, group_means, variances, group * _LANES, _LANES)

    return adain_function(channels, style, True, reduce_to_affine, weight_dtype, takes_statistics)
