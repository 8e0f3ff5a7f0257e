"""One-dimensional convolution by Winograd transforms: `conv1d` with fewer multiplications.

Activations have the channels last, [1, time, channels], so that a transform is vector arithmetic over
channels that moves no sample, and a dilation is only a stride. A *column* is one transform: `Scheme.outputs`
output steps of one phase of the dilation. A *block of time* is one column for each phase. A job activates the
input of some blocks of time and transforms it. Then, for one block of output channels after the other, it
multiplies by the weights and transforms the products back.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.ir import Op
from tvm.script import tirx as T
from tvm.tirx import PrimFunc, call_intrin

from exporter.compiler.kernels import amx_conv1d, bfloat16
from exporter.compiler.kernels.convolution import (
    Convolution,
    activate,
    convolution_function,
    store_output,
)
from exporter.compiler.kernels.register_tile import RegisterTile
from exporter.compiler.kernels.tiles import Sizes, Tiles
from exporter.compiler.kernels.transforms import analyse, combine, entries, synthesise
from exporter.compiler.kernels.winograd_bfloat16 import Operands, multiply_rounded, operands_of
from exporter.compiler.kernels.winograd_schemes import SCHEMES, Scheme, opposites
from runtime_min.format.transforms import transformed

BLOCK = 32
"""Output channels that lie together in packed weights; one packing serves every CPU level."""
COLUMNS = 32
"""Columns of a job where the table has no measured value; their input fits the L2 cache."""
LINE = 16
"""Elements of a line of the caches."""
_PAIRED = {"columns": 64, "rows": 6, "vectors": 2}
"""Sizes for products of pairs of bfloat16 on AVX-512; others were within a tenth of the time."""
FEW = 6
"""Number of jobs up to which equal sizes matter more than full register tiles."""
_BLOCKS, _JOBS, _UNIT, _UNITS, _SHARES = range(5)
"""Entries of a call's plan: blocks of time, jobs, blocks of time of a unit, of which a job has some, units,
and how many jobs share the same blocks of time, each with its part of the output channels."""


def layout(taps: int) -> str:
    """Returns the name of the layout of a convolution's weight."""
    scheme = SCHEMES[taps]
    return f"toom-cook-f({scheme.outputs},{taps})[out/{BLOCK},{scheme.products},in,{BLOCK}]"


def table_row(spec: Convolution) -> str:
    """Returns the key of this kernel in the table of sizes."""
    stored = "" if spec.weight_dtype == "float32" else f"_{spec.weight_dtype}"
    return f"winograd_{spec.in_channels}_{spec.taps}{stored}"


def sizes(spec: Convolution, tiles: Tiles) -> Sizes:
    """Returns the columns of a job, and the rows and vectors of a register tile.

    AVX-512 multiplies and adds with a sample that it broadcasts from memory. A tile of one vector leaves the
    broadcasts to these instructions, so that widening float16 weights takes no time beside them.
    """
    if rounds(spec, tiles) and tiles.lanes == 16:
        return dict(_PAIRED)
    rows, vectors = tiles.winograd or (tiles.channels, tiles.vectors)
    return tiles.sizes(table_row(spec), columns=COLUMNS, rows=rows, vectors=vectors)


def rounds(spec: Convolution, tiles: Tiles) -> bool:
    """Returns whether transformed samples and factors are rounded to bfloat16.

    The last convolution, which alone writes channels first, stays float32: an exponential follows.
    """
    return tiles.arithmetic == "bfloat16" and spec.writes_channels_last


def _whole_tiles(spec: Convolution, chosen: Sizes) -> int:
    """Returns the fewest blocks of time that fill whole register tiles."""
    return chosen["rows"] // math.gcd(chosen["rows"], spec.dilation)


def blocks_of_job(spec: Convolution, chosen: Sizes) -> int:
    """Returns the most blocks of time of a job: about the chosen columns, in whole register tiles."""
    whole = _whole_tiles(spec, chosen)
    return max(1, round(chosen["columns"] / (whole * spec.dilation))) * whole


def taps_layout(taps: int) -> str:
    """Returns the name of the layout of a weight that is transformed when it is loaded."""
    scheme = SCHEMES[taps]
    return f"for-toom-cook-f({scheme.outputs},{taps})[out/{BLOCK},{taps},in,{BLOCK}]"


def pack_taps(weight: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Returns [out, in, taps] as [out/32, taps, in, 32], with zeros where `out` is not a multiple of 32."""
    padded = np.pad(weight, ((0, -len(weight) % BLOCK), (0, 0), (0, 0)))
    blocks = padded.reshape(-1, BLOCK, *weight.shape[1:])
    return np.ascontiguousarray(blocks.transpose(0, 3, 2, 1))


def pack_weight(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns [out, in, taps] transformed to [out/32, products, in, 32], in float64 and rounded once."""
    return transformed(pack_taps(weight), SCHEMES[weight.shape[2]].matrix)


def _emit_columns_in(scheme: Scheme, dilation: int, lanes: int, operands: Operands | None) -> Any:
    """Returns a TIR macro that transforms the activated input of one column; `operands` are of bfloat16."""

    def emit(window: Any, values: Any, transformed: Any, first: Any, column: Any, channel: Any) -> None:
        analyse(scheme.analysis, lanes, lambda i, lane: window[first + i * dilation, channel + lane], values)
        for product, row in enumerate(scheme.spread):
            if operands:
                value = combine(row, entries(values, T.ramp(0, 1, lanes)))
                place = operands.place(product, column, channel)
                T.buffer_store(transformed, bfloat16.halves(value, lanes), place)
                continue
            with T.vectorized(lanes) as lane:
                value = combine(row, entries(values, lane))
                T.buffer_store(transformed, value, [product, column, channel + lane])

    @T.inline
    def transform(window: Any, first: Any, column: Any, channels: Any, transformed: Any) -> None:
        for chunk in T.serial(T.floordiv(channels, lanes)):
            values = T.alloc_buffer((scheme.samples, lanes), "float32", scope="local")
            emit(window, values, transformed, first, column, chunk * lanes)

    return transform


def _emit_columns_out(spec: Convolution, scheme: Scheme, lanes: int) -> Any:
    """Returns a TIR macro that writes the outputs of one column for a block of output channels."""
    groups = len(opposites(scheme.synthesis.T))

    def emit(product: Any, column: Any, channel: Any, values: Any, sums: Any, results: Any) -> None:
        for value, row in enumerate(scheme.gather):
            with T.vectorized(lanes) as lane:
                term = combine(row, entries(product, column, channel + lane))
                T.buffer_store(values, term, [value, lane])
        synthesise(scheme.synthesis, lanes, values, sums, results)

    @T.inline
    def restore(buffers: Any, product: Any, column: Any, block: Any, first: Any, length: Any) -> None:
        for chunk in T.serial(BLOCK // lanes):
            values = T.alloc_buffer((scheme.samples, lanes), "float32", scope="local")
            sums = T.alloc_buffer((groups, 2, lanes), "float32", scope="local")
            results = T.alloc_buffer((scheme.outputs, lanes), "float32", scope="local")
            emit(product, column, chunk * lanes, values, sums, results)
            for output in T.unroll(scheme.outputs):
                time: T.let[T.int64] = first + output * spec.dilation
                if time < length:
                    for lane in T.vectorized(lanes):
                        store_output(
                            spec, results[output, lane], buffers, block * BLOCK + chunk * lanes + lane, time
                        )

    return restore


def _activated_step(spec: Convolution, lanes: int) -> Any:
    """Returns a TIR macro that writes the activated input of one time step; zero outside the signal."""

    @T.inline
    def activate_step(buffers: Any, window: Any, row: Any, time: Any, n: Any) -> None:
        for chunk in T.serial(spec.in_channels // lanes):
            if time >= 0 and time < n:
                for lane in T.vectorized(lanes):
                    window[row, chunk * lanes + lane] = activate(
                        spec, buffers.x[0, time, chunk * lanes + lane], buffers, chunk * lanes + lane
                    )
            else:
                for lane in T.vectorized(lanes):
                    window[row, chunk * lanes + lane] = T.float32(0)

    return activate_step


def _prefetch(spec: Convolution, tile: RegisterTile) -> Any:
    """Returns a TIR macro that fetches what the outputs of a block of channels overwrite and add.

    Every register tile fetches its part, `index`, because the multiplications leave the memory idle.
    """
    scheme = SCHEMES[spec.taps]
    steps = -(-scheme.outputs * tile.rows // scheme.products)

    def fetch(buffers: Any, time: Any, channel: Any) -> None:
        if not spec.writes_channels_last:
            return
        added = (buffers.residual, buffers.other)[: spec.residuals]
        for buffer in added if spec.in_place else (buffers.y, *added):
            for line in range(0, tile.columns, LINE):
                address = T.address_of(buffer[0, time, channel + line])
                # To read, into all caches, as data.
                T.evaluate(call_intrin("void", Op.get("tirx.prefetch"), address, 0, 3, 1))

    @T.inline
    def prefetch(buffers: Any, index: Any, channel: Any, start: Any, length: Any) -> None:
        for step in T.serial(steps):
            fetch(buffers, T.min(start + index * steps + step, length - 1), channel)

    return prefetch


def _multiply(spec: Convolution, tile: RegisterTile, prefetch: Any) -> Any:
    """Returns a TIR macro that multiplies all columns by the weights of one block of output channels."""

    def add_products(total: Any, weight: Any, transformed: Any, place: Any) -> None:
        block, point, channel, group, part = place
        with tile.each() as (row, vector, lane):
            sample = transformed[point, group * tile.rows + row, channel]
            factor = T.cast(
                weight[block, point, channel, (part * tile.vectors + vector) * tile.lanes + lane], "float32"
            )
            T.buffer_store(total, total[row, vector, lane] + sample * factor, [row, vector, lane])

    @T.inline
    def multiply(
        buffers: Any, block: Any, transformed: Any, groups: Any, product: Any, start: Any, length: Any
    ) -> None:
        for point, part, group in T.grid(SCHEMES[spec.taps].products, BLOCK // tile.columns, groups):
            total = T.alloc_buffer(tuple(tile), "float32", scope="local")
            tile.clear(total)
            for channel in T.serial(spec.in_channels):
                add_products(total, buffers.weight, transformed, (block, point, channel, group, part))
            tile.store(product, total, (point, group * tile.rows, part * tile.columns))
            prefetch(buffers, point * groups + group, block * BLOCK + part * tile.columns, start, length)

    return multiply


def _emit_plan(spec: Convolution, chosen: Sizes, plan: Any, n: Any) -> None:
    """Emits the plan of a call on `n` time steps: jobs whose numbers of units differ by at most one.

    Each value is stored and read again, because TVM's simplifier takes forever over nested quotients.
    """
    stride, most = SCHEMES[spec.taps].outputs * spec.dilation, blocks_of_job(spec, chosen)
    whole = _whole_tiles(spec, chosen)
    few = FEW if whole * spec.dilation > chosen["rows"] else 0
    shares = 2 if spec.out_channels // BLOCK % 2 == 0 else 1

    def stored(entry: int, value: Any) -> Any:
        T.buffer_store(plan, value, [entry])
        return plan[entry]

    blocks = stored(_BLOCKS, T.floordiv(n + (spec.growth + stride - 1), stride))
    fewest = stored(_JOBS, T.floordiv(blocks + (most - 1), most))
    unit = stored(_UNIT, T.if_then_else(fewest <= few, T.int64(1), T.int64(whole)))
    units = stored(_UNITS, T.floordiv(blocks + unit - 1, unit))
    # Two cores want an even number of jobs; a single job is shared, half the channels each.
    odd = T.if_then_else(fewest == 1, T.int64(0), T.floormod(fewest, 2))
    jobs = stored(_JOBS, T.min(fewest + odd, units))
    stored(_SHARES, T.if_then_else(jobs == 1, T.int64(shares), T.int64(1)))


def _first_block(plan: Any, job: Any) -> Any:
    """Returns the first block of time of a job, or the number of blocks for the one after the last."""
    return T.min(T.floordiv(job * plan[_UNITS], plan[_JOBS]) * plan[_UNIT], plan[_BLOCKS])


def _check(spec: Convolution) -> None:
    """Raises ValueError if the kernel cannot compute the convolution."""
    if spec.out_channels % BLOCK or spec.in_channels % BLOCK:
        raise ValueError(f"expected whole blocks of {BLOCK} channels, found {spec}")
    if spec.in_place and not spec.residuals:
        raise ValueError(f"expected a residual whose place the output takes, found {spec}")
    if not spec.reads_channels_last:
        raise ValueError(f"expected an input with the channels last, found {spec}")


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """Returns the kernel of `spec`, which is that of `amx_conv1d` where products are for the matrix unit.

    Its arguments are those of `convolution_function`, and a weight of `pack_weight`.

    Raises:
        ValueError: the channels are not whole blocks, the input does not have them last, or there is no
            residual to overwrite in place.
    """
    _check(spec)
    if tiles.has_matrix_unit and rounds(spec, tiles):
        return amx_conv1d.convolution(spec, tiles)
    in_channels, dilation, scheme = spec.in_channels, spec.dilation, SCHEMES[spec.taps]
    products, blocks = scheme.products, spec.out_channels // BLOCK
    stride, reach = scheme.outputs * dilation, (spec.taps - 1) * dilation
    chosen, lanes = sizes(spec, tiles), tiles.lanes
    rows, most = chosen["rows"], blocks_of_job(spec, chosen)
    # One more than there are: a stride of a power of two would map all products to one set of a cache.
    padded = most * dilation + 1
    activate_step = _activated_step(spec, lanes)
    tile = RegisterTile(rows, chosen["vectors"], lanes)
    operands, prefetch = operands_of(tile) if rounds(spec, tiles) else None, _prefetch(spec, tile)
    multiply = multiply_rounded(spec, operands, prefetch) if operands else _multiply(spec, tile, prefetch)
    transform = _emit_columns_in(scheme, dilation, lanes, operands)
    restore = _emit_columns_out(spec, scheme, lanes)
    shape: tuple[int, ...] = (products, padded, in_channels)
    dtype = "float32"
    if operands:
        shape, dtype = operands.samples_shape(*shape), "uint16"

    def clear(transformed: Any, *place: Any) -> None:
        """Emits zeros in place of a vector of channels of a column."""
        zero = T.uint16(0) if operands else T.float32(0)
        *others, channel = place
        lies = operands.place(*place) if operands else [*others, T.ramp(channel, 1, lanes)]
        T.buffer_store(transformed, T.broadcast(zero, lanes), lies)

    def first_step(column: Any, start: Any = 0) -> Any:
        """Returns the first time step of a column of a job that begins at `start`."""
        return start + T.floordiv(column, dilation) * stride + T.floormod(column, dilation)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        if operands is not None:
            T.attr(0, "pragma_import_llvm", bfloat16.LLVM[lanes])
        plan = T.alloc_buffer((5,), "int64", scope="global")
        _emit_plan(spec, chosen, plan, n)
        for job in T.parallel(plan[_JOBS] * plan[_SHARES]):
            window = T.alloc_buffer((most * stride + reach, in_channels), "float32", scope="global")
            transformed = T.alloc_buffer(shape, dtype, scope="global")
            product = T.alloc_buffer((products, padded, BLOCK), "float32", scope="global")
            # First block of time of the job, number of its blocks of time.
            own = T.alloc_buffer((2,), "int64", scope="local")
            own[0] = _first_block(plan, T.floordiv(job, plan[_SHARES]))
            own[1] = _first_block(plan, T.floordiv(job, plan[_SHARES]) + 1) - own[0]
            start: T.let[T.int64] = own[0] * stride
            columns: T.let[T.int64] = own[1] * dilation
            groups: T.let[T.int64] = T.floordiv(columns + (rows - 1), rows)
            for row in T.serial(own[1] * stride + reach):
                activate_step(buffers, window, row, start - spec.padding + row, n)
            for column in T.serial(columns):
                transform(window, first_step(column), column, in_channels, transformed)
            # Register tiles read whole groups of columns; stale numbers could be subnormal, which is slow.
            for point, column, chunk in T.grid(products, groups * rows - columns, in_channels // lanes):
                clear(transformed, point, columns + column, chunk * lanes)
            for share_block in T.serial(T.floordiv(blocks, plan[_SHARES])):
                block: T.let[T.int64] = (
                    T.floormod(job, plan[_SHARES]) * T.floordiv(blocks, plan[_SHARES]) + share_block
                )
                length: T.let[T.int64] = n + spec.growth
                multiply(buffers, block, transformed, groups, product, start, length)
                for column in T.serial(columns):
                    restore(buffers, product, column, block, first_step(column, start), length)

    return convolution_function(spec, (blocks, products, in_channels, BLOCK), convolve)
