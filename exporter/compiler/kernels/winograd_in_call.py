"""A convolution of two or three taps by Winograd transforms, of weights as `conv1d` stores them.

Stored transformed, the weights would be 8/3 as large, and float16 would round the transformed ones. So a job
transforms them: a block of 32 output channels and a chunk of input channels at a time, which stay in its
caches while it multiplies them by all columns of a span. A *column* is one transform of the input,
`Scheme.outputs` output steps. A *span* is what is computed at once: its input is transformed by jobs of a
chunk of input channels, and then multiplied by jobs of some blocks of output channels.

The input is channels first; the output is channels first or last.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from tvm.script import tirx as T

from exporter.compiler.kernels.activated_input import COPY, rows_of_time
from exporter.compiler.kernels.convolution import Buffers, Convolution, store_output
from exporter.compiler.kernels.int8_weights import summed_together
from exporter.compiler.kernels.register_tile import RegisterTile
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK, Tiles
from exporter.compiler.kernels.transforms import analyse, synthesise
from exporter.compiler.kernels.winograd_schemes import SCHEMES, Matrix, Scheme, opposites

CHUNK = 64
"""Input channels whose products are summed in registers, and whose weights a job transforms at once."""
COLUMNS = 60
"""The most columns of a span."""
BLOCKS = 2
"""Blocks of output channels of a job, if their number allows it."""
FEWEST = 40
"""The fewest output steps for which transforms of weights save time."""
_COLUMNS, _SPANS, _COLUMNS_OF_SPAN, _COLUMNS_HERE, _TILES = range(5)
"""Entries of a call's plan: columns, spans, columns of each span; columns and register tiles of this one."""


def suits(spec: Convolution) -> bool:
    """Returns True if a convolution has few taps, the many channels of the decoder, and channels first.

    The layers of F0 and N have at most 512 channels. They stay direct, because transforms cost them 3 dB.
    """
    fewest, most = sorted((spec.in_channels, spec.out_channels))
    plain = spec.dilation == 1 and not spec.reads_channels_last
    return plain and spec.taps in (2, 3) and fewest >= 256 and most > 512


class _Shape(NamedTuple):
    """The values that the parts of a kernel share; `rows` are the columns of a register tile."""

    scheme: Scheme
    rows: int
    lanes: int
    vectors: int

    @property
    def tiles(self) -> int:
        """The most register tiles of a span."""
        return -(-COLUMNS // self.rows)


def _factors(scheme: Scheme) -> tuple[Matrix, Matrix]:
    """Returns the transforms of samples and of taps; in the latter each row begins with 1.

    So the weights, which are many, take fewer multiplications, and samples take the factors.
    """
    rows = scheme.filter_transform
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1), None]
    return scheme.analysis * first, rows / first


def _transform_input(shape: _Shape) -> Any:
    """Returns a TIR macro that transforms one channel of a register tile's columns, a column in each lane."""
    scheme, rows = shape.scheme, shape.rows
    analysis, _ = _factors(scheme)

    def emit(window: Any, values: Any, transformed: Any, tile: Any, row: Any, channel: Any) -> None:
        analyse(analysis, rows, lambda index, lane: window[row, lane * scheme.outputs + index], values)
        for product in range(scheme.products):
            with T.vectorized(rows) as lane:
                T.buffer_store(transformed, values[product, lane], [tile, product, channel, lane])

    @T.inline
    def transform(window: Any, transformed: Any, tile: Any, row: Any, channel: Any) -> None:
        values = T.alloc_buffer((scheme.products, rows), "float32", scope="local")
        emit(window, values, transformed, tile, row, channel)

    return transform


def _transform_weight(spec: Convolution, shape: _Shape) -> Any:
    """Returns a TIR macro that transforms the weights of a block and of `channels` input channels."""
    scheme, lanes, taps = shape.scheme, shape.lanes, spec.taps
    _, filters = _factors(scheme)

    def emit(buffers: Buffers, factors: Any, row: Any, own: Any, values: Any, place: Any) -> None:
        block, channel, first = place
        for tap in range(taps):
            with T.vectorized(lanes) as lane:
                weight = T.cast(buffers.weight[block, channel, tap, first + lane], "float32")
                if buffers.scales is not None:
                    part = T.floordiv(channel, summed_together(taps))
                    weight = weight * T.cast(buffers.scales[block, part, first + lane], "float32")
                T.buffer_store(own, weight, [tap, lane])
        analyse(filters, lanes, lambda tap, lane: own[tap, lane], values)
        for product in range(scheme.products):
            with T.vectorized(lanes) as lane:
                T.buffer_store(factors, values[product, lane], [product, row, first + lane])

    @T.inline
    def transform(buffers: Any, factors: Any, block: Any, first: Any, channels: Any) -> None:
        for row, vector in T.grid(channels, CHANNEL_BLOCK // lanes):
            own = T.alloc_buffer((taps, lanes), "float32", scope="local")
            values = T.alloc_buffer((scheme.products, lanes), "float32", scope="local")
            emit(buffers, factors, row, own, values, (block, first + row, vector * lanes))

    return transform


def _multiply(tile: RegisterTile, shape: _Shape) -> Any:
    """Returns a TIR macro that multiplies `tile.rows` columns by a chunk of a block's weights."""

    def add(total: Any, factors: Any, transformed: Any, place: Any) -> None:
        column_tile, product, part, first, number = place
        with tile.each() as (row, vector, lane):
            factor = factors[product, number, part * tile.columns + vector * tile.lanes + lane]
            value = total[row, vector, lane] + factor * transformed[column_tile, product, first + number, row]
            T.buffer_store(total, value, [row, vector, lane])

    def store(total: Any, products: Any, place: Any, adds: bool) -> None:
        block, column_tile, product, part = place
        with tile.each() as (row, vector, lane):
            entry = block, column_tile, product, row, part * tile.columns + vector * tile.lanes + lane
            value = total[row, vector, lane]
            T.buffer_store(products, products[entry] + value if adds else value, list(entry))

    @T.inline
    def multiply(
        factors: Any, transformed: Any, products: Any, block: Any, column_tile: Any, first: Any, channels: Any
    ) -> None:
        for product, part in T.grid(shape.scheme.products, CHANNEL_BLOCK // tile.columns):
            total = T.alloc_buffer(tuple(tile), "float32", scope="local")
            tile.clear(total)
            for number in T.serial(channels):
                add(total, factors, transformed, (column_tile, product, part, first, number))
            if first == 0:
                store(total, products, (block, column_tile, product, part), False)
            else:
                store(total, products, (block, column_tile, product, part), True)

    return multiply


def _multiply_tile(shape: _Shape) -> Any:
    """Returns a builder of code that multiplies a register tile, of the columns that are left or one more."""
    tiles = [RegisterTile(rows, shape.vectors, shape.lanes) for rows in range(2, shape.rows + 1, 2)]

    def multiply(*arguments: Any, left: Any) -> None:
        for tile in tiles:
            pairs = T.min(T.floordiv(left + 1, 2), shape.rows // 2)
            with T.If(pairs == tile.rows // 2), T.Then():
                _multiply(tile, shape)(*arguments)

    return multiply


def _restore(spec: Convolution, shape: _Shape) -> Any:
    """Returns a TIR macro that writes the outputs of one column for a block of output channels."""
    scheme, lanes = shape.scheme, shape.lanes
    groups = len(opposites(scheme.synthesis.T))

    def emit(products: Any, values: Any, sums: Any, results: Any, place: Any) -> None:
        own, column_tile, row, first = place
        for product in range(scheme.products):
            with T.vectorized(lanes) as lane:
                value = products[own, column_tile, product, row, first + lane]
                T.buffer_store(values, value, [product, lane])
        synthesise(scheme.synthesis, lanes, values, sums, results)

    @T.inline
    def restore(
        buffers: Any, products: Any, own: Any, column: Any, block: Any, time: Any, length: Any
    ) -> None:
        for part in T.serial(CHANNEL_BLOCK // lanes):
            values = T.alloc_buffer((scheme.products, lanes), "float32", scope="local")
            sums = T.alloc_buffer((groups, 2, lanes), "float32", scope="local")
            results = T.alloc_buffer((scheme.outputs, lanes), "float32", scope="local")
            channel: T.let[T.int64] = block * CHANNEL_BLOCK + part * lanes
            place = own, T.floordiv(column, shape.rows), T.floormod(column, shape.rows), part * lanes
            emit(products, values, sums, results, place)
            if spec.writes_channels_last:
                for step in T.unroll(scheme.outputs):
                    if time + step < length:
                        for lane in T.vectorized(lanes):
                            store_output(spec, results[step, lane], buffers, channel + lane, time + step)
            elif time + scheme.outputs <= length:
                for lane, step in T.grid(lanes, scheme.outputs):
                    store_output(spec, results[step, lane], buffers, channel + lane, time + step)
            else:
                for lane, step in T.grid(lanes, length - time):
                    store_output(spec, results[step, lane], buffers, channel + lane, time + step)

    return restore


def _input_job(spec: Convolution, shape: _Shape) -> Any:
    """Returns a TIR macro that transforms a chunk of the input channels for one tile of columns."""
    scheme, channels, chunks = shape.scheme, spec.in_channels, -(-spec.in_channels // CHUNK)
    steps = shape.rows * scheme.outputs + spec.taps - 1
    width = -(-steps // COPY) * COPY
    fill, transform = rows_of_time(spec), _transform_input(shape)

    @T.inline
    def run(buffers: Any, transformed: Any, job: Any, start: Any, n: Any) -> None:
        window = T.alloc_buffer((CHUNK, width), "float32", scope="global")
        tile: T.let[T.int64] = T.floordiv(job, chunks)
        first: T.let[T.int64] = T.floormod(job, chunks) * CHUNK
        own: T.let[T.int64] = T.min(T.int64(CHUNK), channels - first)
        time: T.let[T.int64] = start + tile * shape.rows * scheme.outputs - spec.padding
        fill(window, buffers, first, own, time, T.int64(steps), n)
        for row in T.serial(own):
            transform(window, transformed, tile, row, first + row)

    return run


def _output_job(spec: Convolution, shape: _Shape, blocks: int) -> Any:
    """Returns a TIR macro that computes `blocks` blocks of output channels for the columns of a span."""
    scheme, channels = shape.scheme, spec.in_channels
    transform, multiply, restore = (
        _transform_weight(spec, shape),
        _multiply_tile(shape),
        _restore(spec, shape),
    )

    @T.inline
    def run(buffers: Any, transformed: Any, first_block: Any, plan: Any, start: Any, length: Any) -> None:
        factors = T.alloc_buffer((scheme.products, CHUNK, CHANNEL_BLOCK), "float32", scope="global")
        products = T.alloc_buffer(
            (blocks, shape.tiles, scheme.products, shape.rows, CHANNEL_BLOCK), "float32", scope="global"
        )
        for chunk, block in T.grid(T.int64(-(-channels // CHUNK)), blocks):
            first: T.let[T.int64] = chunk * CHUNK
            own: T.let[T.int64] = T.min(T.int64(CHUNK), channels - first)
            transform(buffers, factors, first_block + block, first, own)
            for tile in T.serial(plan[_TILES]):
                left: T.let[T.int64] = plan[_COLUMNS_HERE] - tile * shape.rows
                multiply(factors, transformed, products, block, tile, first, own, left=left)
        for block, column in T.grid(blocks, plan[_COLUMNS_HERE]):
            time: T.let[T.int64] = start + column * scheme.outputs
            restore(buffers, products, block, column, first_block + block, time, length)

    return run


def body(spec: Convolution, tiles: Tiles) -> Any:
    """Returns a TIR macro that computes `spec` from the `Buffers` and the length of its input.

    Raises:
        ValueError: the convolution does not suit.
    """
    if not suits(spec):
        raise ValueError(f"expected a wide convolution without dilation of channels first, found {spec}")
    shape = _Shape(SCHEMES[spec.taps], tiles.steps, tiles.lanes, tiles.vectors)
    scheme, channels = shape.scheme, spec.in_channels
    blocks = spec.out_channels // CHANNEL_BLOCK
    own_blocks, chunks = math.gcd(blocks, BLOCKS), -(-channels // CHUNK)
    transform, compute = _input_job(spec, shape), _output_job(spec, shape, own_blocks)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        # In memory, because TVM's simplifier takes forever over nested quotients.
        plan = T.alloc_buffer((5,), "int64", scope="global")
        transformed = T.alloc_buffer(
            (shape.tiles, scheme.products, channels, shape.rows), "float32", scope="global"
        )
        plan[_COLUMNS] = T.floordiv(n + (spec.growth + scheme.outputs - 1), scheme.outputs)
        plan[_SPANS] = T.floordiv(plan[_COLUMNS] + (COLUMNS - 1), COLUMNS)
        plan[_COLUMNS_OF_SPAN] = T.floordiv(plan[_COLUMNS] + plan[_SPANS] - 1, plan[_SPANS])
        for span in T.serial(plan[_SPANS]):
            first: T.let[T.int64] = span * plan[_COLUMNS_OF_SPAN]
            plan[_COLUMNS_HERE] = T.min(plan[_COLUMNS_OF_SPAN], plan[_COLUMNS] - first)
            plan[_TILES] = T.floordiv(plan[_COLUMNS_HERE] + (shape.rows - 1), shape.rows)
            start: T.let[T.int64] = first * scheme.outputs
            for job in T.parallel(plan[_TILES] * chunks):
                transform(buffers, transformed, job, start, n)
            for job in T.parallel(T.int64(blocks // own_blocks)):
                compute(buffers, transformed, job * own_blocks, plan, start, n + spec.growth)

    return convolve
