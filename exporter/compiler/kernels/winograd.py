"""One-dimensional convolution by Toom-Cook transforms: `conv1d` with fewer multiplications.

Activations are channels last, [1, time, channels]: whatever is done to one time step is done to all channels
at once, so that a transform is vector arithmetic without a move of samples, and a dilation only a stride. A
column is one transform, `Scheme.outputs` steps of one phase of the dilation. A job activates the input of
some columns, transforms it, multiplies for each product block by block of output channels, and transforms
back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.conv1d import Convolution, activate, finish
from exporter.compiler.kernels.tiles import Sizes, Tiles
from exporter.compiler.kernels.toom_cook import SCHEMES, Matrix, Scheme, opposites

BLOCK = 32
"""Output channels that lie together in packed weights; one packing serves every CPU level."""
COLUMNS = 32
"""Transforms of a job, where none were measured; their input fits the L2 cache."""
_BLOCKS, _JOBS, _EACH, _SHARES = range(4)
"""What a call works out first: blocks of time, jobs, blocks of each job, jobs that share a block."""

Sample = Callable[[int], Any]


def layout(taps: int) -> str:
    """Name of the layout of a convolution's weight."""
    scheme = SCHEMES[taps]
    return f"toom-cook-f({scheme.outputs},{taps})[out/{BLOCK},{scheme.products},in,{BLOCK}]"


def table_row(spec: Convolution) -> str:
    """Where the table of sizes has this kernel."""
    return f"winograd_{spec.in_channels}_{spec.taps}"


def sizes(spec: Convolution, tiles: Tiles) -> Sizes:
    """Columns of a job, and rows, which are columns, of a register tile."""
    return tiles.sizes(table_row(spec), columns=COLUMNS, rows=tiles.channels)


def pack_weight(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Transforms [out, in, taps] to [out/32, products, in, 32] in float64, rounded once."""
    out, channels, taps = weight.shape
    scheme = SCHEMES[taps]
    factors = weight.astype(np.float64) @ scheme.filter_transform.T
    blocks = factors.reshape(out // BLOCK, BLOCK, channels, scheme.products)
    return np.ascontiguousarray(blocks.transpose(0, 3, 2, 1), dtype=np.float32)


def _combine(row: NDArray[np.float64], sample: Sample) -> Any:
    """The sum of row[i] * sample(i) over the entries that are not zero."""
    total = None
    for index in np.flatnonzero(row):
        factor = float(np.float32(row[index]))
        term = sample(int(index)) if factor == 1 else sample(int(index)) * T.float32(factor)
        total = term if total is None else total + term
    return total


def _rows(buffer: Any, *place: Any) -> Sample:
    """The elements at `place` of each row of a buffer."""
    return lambda index: buffer[(index, *place)]


def _analyse(matrix: Matrix, lanes: int, sample: Callable[[int, Any], Any], values: Any) -> None:
    """Emits values = matrix @ samples for a vector of channels."""
    even = np.arange(matrix.shape[1]) % 2 == 0
    for first, second, sign in opposites(matrix):
        for row in (first, second):
            if row is not None:
                with T.vectorized(lanes) as lane:

                    def at(index: int, lane: Any = lane) -> Any:
                        return sample(index, lane)

                    if second is None:
                        value = _combine(matrix[row], at)
                    else:
                        evens, odds = _combine(matrix[first] * even, at), _combine(matrix[first] * ~even, at)
                        value = evens + odds if row == first else evens - odds if sign > 0 else odds - evens
                    T.buffer_store(values, value, [row, lane])


def _synthesise(matrix: Matrix, lanes: int, values: Any, sums: Any, results: Any) -> None:
    """Emits results = matrix @ values for a vector of channels."""
    groups = opposites(matrix.T)
    for index, (first, second, sign) in enumerate(groups):
        # What the even outputs take, then what the odd ones take.
        for odd in range(2):
            with T.vectorized(lanes) as lane:
                value = values[first, lane]
                if second is not None:
                    added = (sign > 0) != bool(odd)
                    value = value + values[second, lane] if added else value - values[second, lane]
                T.buffer_store(sums, value, [index, odd, lane])
    for output in range(len(matrix)):
        with T.vectorized(lanes) as lane:
            row = np.array([matrix[output, first] for first, _, _ in groups])
            value = _combine(row, _rows(sums, output % 2, lane))
            T.buffer_store(results, value, [output, lane])


def _emit_columns_in(scheme: Scheme, dilation: int, lanes: int) -> Any:
    """A TIR macro that transforms the activated input of one column."""

    def emit(window: Any, values: Any, transformed: Any, first: Any, column: Any, channel: Any) -> None:
        _analyse(scheme.analysis, lanes, lambda i, lane: window[first + i * dilation, channel + lane], values)
        for product, row in enumerate(scheme.spread):
            with T.vectorized(lanes) as lane:
                value = _combine(row, _rows(values, lane))
                T.buffer_store(transformed, value, [product, column, channel + lane])

    @T.inline
    def transform(window: Any, first: Any, column: Any, channels: Any, transformed: Any) -> None:
        for chunk in T.serial(T.floordiv(channels, lanes)):
            values = T.alloc_buffer((scheme.samples, lanes), "float32", scope="local")
            emit(window, values, transformed, first, column, chunk * lanes)

    return transform


def _emit_columns_out(spec: Convolution, scheme: Scheme, lanes: int) -> Any:
    """A TIR macro that writes the outputs of one column for a block of output channels."""
    groups = len(opposites(scheme.synthesis.T))

    def emit(product: Any, column: Any, channel: Any, values: Any, sums: Any, results: Any) -> None:
        for value, row in enumerate(scheme.gather):
            with T.vectorized(lanes) as lane:
                term = _combine(row, _rows(product, column, channel + lane))
                T.buffer_store(values, term, [value, lane])
        _synthesise(scheme.synthesis, lanes, values, sums, results)

    @T.inline
    def restore(
        product: Any, column: Any, block: Any, first: Any, length: Any, bias: Any, residual: Any,
        other: Any, y: Any,
    ) -> None:  # fmt: skip
        for chunk in T.serial(BLOCK // lanes):
            values = T.alloc_buffer((scheme.samples, lanes), "float32", scope="local")
            sums = T.alloc_buffer((groups, 2, lanes), "float32", scope="local")
            results = T.alloc_buffer((scheme.outputs, lanes), "float32", scope="local")
            emit(product, column, chunk * lanes, values, sums, results)
            for output in T.unroll(scheme.outputs):
                time: T.let[T.int64] = first + output * spec.dilation
                if time < length:
                    for lane in T.vectorized(lanes):
                        y[0, time, block * BLOCK + chunk * lanes + lane] = finish(
                            spec, results[output, lane], bias, residual, other,
                            block * BLOCK + chunk * lanes + lane, time,
                        )  # fmt: skip

    return restore


def _check(spec: Convolution) -> None:
    """Refuses what the kernel does not compute."""
    if spec.out_channels % BLOCK or spec.in_channels % BLOCK:
        raise ValueError(f"expected whole blocks of {BLOCK} channels, found {spec}")
    if spec.in_place and not spec.residuals:
        raise ValueError(f"expected a residual whose place the output takes, found {spec}")
    if not (spec.reads_channels_last and spec.writes_channels_last):
        raise ValueError(f"expected activations with the channels last, found {spec}")


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """The kernel of `spec`.

    Buffers as of `conv1d.convolution` with channels last, but weight as `pack_weight` gives it.

    Raises:
        ValueError: channels are not whole blocks, or not last, or nothing has the output's place.
    """
    _check(spec)
    out_channels, in_channels, dilation = spec.out_channels, spec.in_channels, spec.dilation
    growth = spec.growth
    scheme = SCHEMES[spec.taps]
    products, blocks = scheme.products, out_channels // BLOCK
    stride = scheme.outputs * dilation
    chosen = sizes(spec, tiles)
    most = max(1, chosen["columns"] // dilation)
    lanes, rows, vectors = tiles.lanes, chosen["rows"], tiles.vectors
    padded = -(-most * dilation // rows) * rows
    reach = (spec.taps - 1) * dilation
    shares = 2 if blocks % 2 == 0 else 1
    transform, restore = _emit_columns_in(scheme, dilation, lanes), _emit_columns_out(spec, scheme, lanes)

    @T.inline
    def activate_step(window: Any, row: Any, time: Any, x: Any, n: Any, affine: Any, alpha: Any) -> None:
        for chunk in T.serial(in_channels // lanes):
            if time >= 0 and time < n:
                for lane in T.vectorized(lanes):
                    window[row, chunk * lanes + lane] = activate(
                        spec, x[0, time, chunk * lanes + lane], affine, alpha, chunk * lanes + lane
                    )
            else:
                for lane in T.vectorized(lanes):
                    window[row, chunk * lanes + lane] = T.float32(0)

    @T.inline
    def multiply(weight: Any, block: Any, transformed: Any, groups: Any, product: Any) -> None:
        for point, part, group in T.grid(products, BLOCK // (lanes * vectors), groups):
            total = T.alloc_buffer((rows, vectors, lanes), "float32", scope="local")
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.vectorized(lanes):
                        total[row, vector, lane] = T.float32(0)
            for channel in T.serial(in_channels):
                for row in T.unroll(rows):
                    for vector in T.unroll(vectors):
                        for lane in T.vectorized(lanes):
                            total[row, vector, lane] = (
                                total[row, vector, lane]
                                + transformed[point, group * rows + row, channel]
                                * weight[block, point, channel, (part * vectors + vector) * lanes + lane]
                            )
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.vectorized(lanes):
                        product[point, group * rows + row, (part * vectors + vector) * lanes + lane] = total[
                            row, vector, lane
                        ]

    @T.inline
    def convolve(
        x: Any, weight: Any, bias: Any, affine: Any, alpha: Any, residual: Any, other: Any, y: Any, n: Any
    ) -> None:
        # In memory, because TVM's simplifier takes forever over nested quotients.
        plan = T.alloc_buffer((4,), "int64", scope="global")
        plan[_BLOCKS] = T.floordiv(n + (growth + stride - 1), stride)
        plan[_JOBS] = T.floordiv(plan[_BLOCKS] + (most - 1), most)
        # Jobs of one size in an even number, for two cores; one job alone is shared, half the channels each.
        plan[_EACH] = plan[_JOBS] + T.if_then_else(plan[_JOBS] == 1, T.int64(0), T.floormod(plan[_JOBS], 2))
        plan[_EACH] = T.floordiv(plan[_BLOCKS] + plan[_EACH] - 1, plan[_EACH])
        plan[_JOBS] = T.floordiv(plan[_BLOCKS] + plan[_EACH] - 1, plan[_EACH])
        plan[_SHARES] = T.if_then_else(plan[_JOBS] == 1, T.int64(shares), T.int64(1))
        for job in T.parallel(plan[_JOBS] * plan[_SHARES]):
            window = T.alloc_buffer((most * stride + reach, in_channels), "float32", scope="global")
            transformed = T.alloc_buffer((products, padded, in_channels), "float32", scope="global")
            product = T.alloc_buffer((products, padded, BLOCK), "float32", scope="global")
            own = T.alloc_buffer((2,), "int64", scope="local")  # first block, number of blocks
            own[0] = T.floordiv(job, plan[_SHARES]) * plan[_EACH]
            own[1] = T.min(plan[_EACH], plan[_BLOCKS] - own[0])
            start: T.let[T.int64] = own[0] * stride
            columns: T.let[T.int64] = own[1] * dilation
            groups: T.let[T.int64] = T.floordiv(columns + (rows - 1), rows)
            for row in T.serial(own[1] * stride + reach):
                activate_step(window, row, start - spec.padding + row, x, n, affine, alpha)
            for column in T.serial(columns):
                transform(
                    window, T.floordiv(column, dilation) * stride + T.floormod(column, dilation), column,
                    in_channels, transformed,
                )  # fmt: skip
            # Registers take whole groups of columns; numbers left from before could be slow ones.
            for point, column, chunk in T.grid(products, groups * rows - columns, in_channels // lanes):
                for lane in T.vectorized(lanes):
                    transformed[point, columns + column, chunk * lanes + lane] = T.float32(0)
            for share_block in T.serial(T.floordiv(blocks, plan[_SHARES])):
                block: T.let[T.int64] = (
                    T.floormod(job, plan[_SHARES]) * T.floordiv(blocks, plan[_SHARES]) + share_block
                )
                multiply(weight, block, transformed, groups, product)
                for column in T.serial(columns):
                    restore(
                        product, column, block,
                        start + T.floordiv(column, dilation) * stride + T.floormod(column, dilation),
                        n + growth, bias, residual, other, y,
                    )  # fmt: skip

    @T.prim_func(private=True, s_tir=True)
    def winograd(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
        alpha_handle: T.handle, residual_handle: T.handle, other_handle: T.handle, y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, spec.input_shape(n), "float32")
        weight = T.match_buffer(weight_handle, (blocks, products, in_channels, BLOCK), "float32")
        bias = T.match_buffer(bias_handle, (out_channels,), "float32")
        affine = T.match_buffer(affine_handle, spec.affine_shape, "float32")
        alpha = T.match_buffer(alpha_handle, spec.alpha_shape, "float32")
        residual = T.match_buffer(
            residual_handle, spec.output_shape(n + growth) if spec.residuals > 0 else (1,), "float32"
        )
        other = T.match_buffer(
            other_handle, spec.output_shape(n + growth) if spec.residuals > 1 else (1,), "float32"
        )
        y = T.match_buffer(y_handle, spec.output_shape(n + growth), "float32")
        convolve(x, weight, bias, affine, alpha, residual, other, y, n)

    @T.prim_func(private=True, s_tir=True)
    def winograd_in_place(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
        alpha_handle: T.handle, other_handle: T.handle, y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, spec.input_shape(n), "float32")
        weight = T.match_buffer(weight_handle, (blocks, products, in_channels, BLOCK), "float32")
        bias = T.match_buffer(bias_handle, (out_channels,), "float32")
        affine = T.match_buffer(affine_handle, spec.affine_shape, "float32")
        alpha = T.match_buffer(alpha_handle, spec.alpha_shape, "float32")
        other = T.match_buffer(
            other_handle, spec.output_shape(n + growth) if spec.residuals > 1 else (1,), "float32"
        )
        y = T.match_buffer(y_handle, spec.output_shape(n + growth), "float32")
        convolve(x, weight, bias, affine, alpha, y, other, y, n)

    return winograd_in_place if spec.in_place else winograd
