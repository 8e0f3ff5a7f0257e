"""One-dimensional convolution by Toom-Cook transforms: `conv1d` with a third of the multiplications.

Taps are taken in groups that share the transform of the input. A dilation of d is d interleaved convolutions
(phases). A job takes a tile of time: it activates and transforms all input channels, multiplies for each
point, and transforms back block by block of output channels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.kernels.conv1d import COPY, Convolution, activated_row, finish
from exporter.kernels.tiles import CHANNEL_BLOCK, Tiles
from exporter.kernels.toom_cook import SCHEMES, Scheme


def layout(taps: int) -> str:
    """Name of the layout of a convolution's weight."""
    scheme = SCHEMES[taps]
    return (
        f"toom-cook-f({scheme.outputs},{scheme.taps})"
        f"[out/{CHANNEL_BLOCK},{scheme.points},in,taps/{scheme.taps},{CHANNEL_BLOCK}]"
    )


def pack_weight(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Transforms [out, in, taps] to [out/8, points, in, groups, 8] in float64, rounded once."""
    out, channels, taps = weight.shape
    scheme = SCHEMES[taps]
    groups = scheme.groups(taps)
    padded = np.zeros((out, channels, groups * scheme.taps))
    padded[:, :, :taps] = weight
    shape = (-1, CHANNEL_BLOCK, channels, groups, scheme.taps)
    blocks = padded.reshape(shape) @ scheme.filter_transform.T
    return np.ascontiguousarray(blocks.transpose(0, 4, 2, 3, 1), dtype=np.float32)


def _combine(row: Any, sample: Any) -> Any:
    """The sum of row[i] * sample(i) over the entries that are not zero."""
    total = None
    for index, factor in enumerate(row):
        if factor != 0:
            term = sample(index) if factor == 1 else sample(index) * T.float32(float(factor))
            total = term if total is None else total + term
    return total


def _transform(scheme: Scheme, samples: Any, transformed: Any, channel: Any, phase: Any, column: Any) -> None:
    """Emits the input transform of 16 columns from `column`.

    The rows of opposite points are a sum and a difference of the same two parts.
    """
    rows = scheme.input_transform
    for pair in scheme.pairs:
        shared = sum(rows[point] for point in pair) / len(pair)
        for point in pair:
            sign = 1 if point == pair[0] else -1
            with T.vectorized(COPY) as lane:
                value = _combine(shared, lambda index, lane=lane: samples[index, lane])
                if len(pair) > 1:
                    own = _combine(rows[pair[0]] - shared, lambda index, lane=lane: samples[index, lane])
                    value = value + own if sign > 0 else value - own
                T.buffer_store(transformed, value, [point, channel, phase, column + lane])


def _sum_products(scheme: Scheme, row: Any, product: Any) -> Any:
    """The sum of row[point] * product(point); products of opposite points are first added or subtracted."""
    total = None
    for pair in scheme.pairs:
        factor = row[pair[0]]
        if factor:
            term = product(pair[0])
            if len(pair) > 1:
                term = term + product(pair[1]) if row[pair[1]] == factor else term - product(pair[1])
            term = term if factor == 1 else term * T.float32(float(factor))
            total = term if total is None else total + term
    return total


def _transform_back(scheme: Scheme, products: Any, signal: Any, row: Any, phase: Any, column: Any) -> None:
    """Emits the outputs of each of 16 columns from `column` in their places of the signal."""
    phases = int(products.shape[2])
    for output in range(scheme.outputs):
        with T.vectorized(COPY) as lane:
            value = _sum_products(
                scheme,
                scheme.output_transform[output],
                lambda point, lane=lane: products[point, row, phase, column + lane],
            )
            place = (column + lane) * (scheme.outputs * phases) + phase + output * phases
            T.buffer_store(signal, value, [place])


def tile_columns(spec: Convolution) -> int:
    """Transforms of one phase that a job computes; the transformed input fits the L2 cache."""
    return 64 if spec.dilation == 1 and spec.in_channels <= 128 else 32


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """The kernel of `spec`, whose output is as long as its input.

    Buffers as of `conv1d.convolution`, but weight as `pack_weight` gives it.

    Raises:
        ValueError: the output's length is not the input's, or its channels are not whole pairs of blocks.
    """
    if spec.out_channels % (2 * CHANNEL_BLOCK):
        raise ValueError(f"expected a multiple of {2 * CHANNEL_BLOCK} output channels, found {spec}")
    if spec.growth:
        raise ValueError(f"expected a convolution that keeps the length, found {spec}")
    out_channels, in_channels = spec.out_channels, spec.in_channels
    scheme = SCHEMES[spec.taps]
    phases, groups, points, outputs = spec.dilation, scheme.groups(spec.taps), scheme.points, scheme.outputs
    stride = outputs * phases
    columns = tile_columns(spec)
    span = stride * columns
    lanes, rows, vectors = tiles.lanes, tiles.channels, tiles.vectors
    halves = CHANNEL_BLOCK // rows
    blocks = out_channels // CHANNEL_BLOCK
    # Columns that the last group of taps reaches, and one more for the later samples of a transform.
    wide = -(-(columns + groups - 1) // COPY) * COPY
    width = -(-stride * (wide + 1) // COPY) * COPY
    fill_row = activated_row(spec, width)

    @T.inline
    def transform_channel(line: Any, channel: Any, transformed: Any) -> None:
        ordered = T.alloc_buffer((stride, wide + COPY), "float32", scope="global")
        for residue in T.serial(stride):
            for column in T.serial(wide + 1):
                ordered[residue, column] = line[0, column * stride + residue]
        for phase, chunk in T.grid(phases, wide // COPY):
            samples = T.alloc_buffer((points, COPY), "float32", scope="local")
            for point in T.unroll(points):
                for lane in T.vectorized(COPY):
                    samples[point, lane] = ordered[
                        phase + phases * (point % outputs), chunk * COPY + lane + point // outputs
                    ]
            _transform(scheme, samples, transformed, channel, phase, chunk * COPY)

    @T.inline
    def multiply(weight: Any, block: Any, transformed: Any, products: Any) -> None:
        for point, phase, half, step in T.grid(points, phases, halves, columns // (vectors * lanes)):
            total = T.alloc_buffer((rows, vectors, lanes), "float32", scope="local")
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.vectorized(lanes):
                        total[row, vector, lane] = T.float32(0)
            for channel in T.serial(in_channels):
                for group in T.unroll(groups):
                    for row in T.unroll(rows):
                        for vector in T.unroll(vectors):
                            for lane in T.vectorized(lanes):
                                total[row, vector, lane] = (
                                    total[row, vector, lane]
                                    + weight[block, point, channel, group, half * rows + row]
                                    * transformed[
                                        point,
                                        channel,
                                        phase,
                                        (step * vectors + vector) * lanes + lane + group,
                                    ]
                                )
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.vectorized(lanes):
                        products[
                            point, half * rows + row, phase, (step * vectors + vector) * lanes + lane
                        ] = total[row, vector, lane]

    @T.inline
    def restore_row(products: Any, row: Any, signal: Any) -> None:
        for phase, chunk in T.grid(phases, columns // COPY):
            _transform_back(scheme, products, signal, row, phase, chunk * COPY)

    @T.prim_func(private=True, s_tir=True)
    def winograd(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
        alpha_handle: T.handle, residual_handle: T.handle, other_handle: T.handle, y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, in_channels, n), "float32")
        weight = T.match_buffer(
            weight_handle, (blocks, points, in_channels, groups, CHANNEL_BLOCK), "float32"
        )
        bias = T.match_buffer(bias_handle, (out_channels,), "float32")
        affine = T.match_buffer(affine_handle, spec.affine_shape, "float32")
        alpha = T.match_buffer(alpha_handle, spec.alpha_shape, "float32")
        residual = T.match_buffer(
            residual_handle, (1, out_channels, n) if spec.residuals > 0 else (1,), "float32"
        )
        other = T.match_buffer(other_handle, (1, out_channels, n) if spec.residuals > 1 else (1,), "float32")
        y = T.match_buffer(y_handle, (1, out_channels, n), "float32")
        # A short signal has too few tiles for all cores: two jobs then share a tile, half the channels each.
        shares: T.let[T.int64] = T.if_then_else(n <= 4 * span, T.int64(2), T.int64(1))
        for job in T.parallel(T.floordiv(n + (span - 1), span) * shares):
            transformed = T.alloc_buffer((points, in_channels, phases, wide), "float32", scope="global")
            products = T.alloc_buffer((points, CHANNEL_BLOCK, phases, columns), "float32", scope="global")
            line = T.alloc_buffer((1, width), "float32", scope="global")
            signal = T.alloc_buffer((span,), "float32", scope="global")
            start: T.let[T.int64] = T.floordiv(job, shares) * span
            for channel in T.serial(in_channels):
                fill_row(line, 0, x, channel, start - spec.padding, n, affine, alpha)
                transform_channel(line, channel, transformed)
            for share_block in T.serial(T.floordiv(blocks, shares)):
                block: T.let[T.int64] = T.floormod(job, shares) * T.floordiv(blocks, shares) + share_block
                multiply(weight, block, transformed, products)
                for row in T.serial(CHANNEL_BLOCK):
                    restore_row(products, row, signal)
                    channel_out: T.let[T.int64] = block * CHANNEL_BLOCK + row
                    if start + span <= n:
                        for chunk in T.serial(span // COPY):
                            for lane in T.vectorized(COPY):
                                y[0, channel_out, start + chunk * COPY + lane] = finish(
                                    spec, signal[chunk * COPY + lane], bias, residual, other,
                                    channel_out, start + chunk * COPY + lane,
                                )  # fmt: skip
                    else:
                        for time in T.serial(n - start):
                            y[0, channel_out, start + time] = finish(
                                spec, signal[time], bias, residual, other, channel_out, start + time
                            )

    return winograd
