"""Direct one-dimensional convolution, fused with the input activation, bias, residuals and scale.

Each convolution reads its input once and writes its output once. A job computes a group of output channels
for a span of time: it writes the activated input into a buffer (zero outside the signal, *after* the
activation, as a convolution's padding is), then runs register tiles of channels x time over it. Linear layers
are convolutions with one tap.

Input and output are channels first, [1, channels, time], or channels last, [1, time, channels], as `winograd`
reads and writes them.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.convolution import (
    Buffers,
    Convolution,
    Width,
    activate,
    convolution_function,
    element,
    store_output,
)
from exporter.compiler.kernels.register_tile import RegisterTile
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK, Sizes, Tiles

LAYOUT = f"conv[out/{CHANNEL_BLOCK},in,taps,{CHANNEL_BLOCK}]"
NARROW = 8
"""Time steps of the narrowest register tile, which computes the end of a short input."""
COPY = 16
"""Time steps of a vector of activated input, on every CPU level."""
# Wide layers run at few time steps: short jobs and many groups of channels keep all cores busy there.
_SPANS: dict[Width, int] = {"narrow": 256, "medium": 128, "wide": 64}
"""Time steps of a job where the table has no measured value."""
_GROUPS: dict[Width, int] = {"narrow": 1, "medium": 2, "wide": 8}
"""Groups that the output channels are split into, if their number allows it."""


def padded_channels(channels: int) -> int:
    """Output channels after rounding up to whole blocks."""
    return -(-channels // CHANNEL_BLOCK) * CHANNEL_BLOCK


def pack_weight(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Packs [out, in, taps] into [out/8, in, taps, 8], zero where `out` is not a multiple of 8."""
    out, channels, taps = weight.shape
    padded = np.zeros((padded_channels(out), channels, taps), np.float32)
    padded[:out] = weight
    blocks = padded.reshape(-1, CHANNEL_BLOCK, channels, taps)
    return np.ascontiguousarray(blocks.transpose(0, 2, 3, 1))


def table_row(spec: Convolution) -> str:
    """Returns the key of this kernel in the table of sizes."""
    return f"conv1d_{spec.width}"


def sizes(spec: Convolution, tiles: Tiles) -> Sizes:
    """Returns the time steps of a job, as `span`."""
    return tiles.sizes(table_row(spec), span=_SPANS[spec.width])


def _activated_tile(spec: Convolution, width: int) -> Any:
    """Returns a TIR macro that writes `width` activated samples of each channel; zero outside the signal."""
    last, in_channels, chunks = spec.reads_channels_last, spec.in_channels, width // COPY

    def order(outer: Any, inner: Any) -> tuple[Any, Any]:
        return (inner, outer) if last else (outer, inner)

    @T.inline
    def fill(tile: Any, buffers: Any, first: Any, n: Any) -> None:
        # The input is read in the order of its memory.
        for outer, inner in T.grid(chunks if last else in_channels, in_channels if last else chunks):
            channel: T.let[T.int32] = order(outer, inner)[0]
            chunk: T.let[T.int32] = order(outer, inner)[1]
            time: T.let[T.int64] = first + chunk * COPY
            if time >= 0 and time + COPY <= n:
                for lane in T.vectorized(COPY):
                    tile[channel, chunk * COPY + lane] = activate(
                        spec, element(buffers.x, channel, time + lane, last), buffers, channel
                    )
            else:
                for lane in T.vectorized(COPY):
                    tile[channel, chunk * COPY + lane] = T.float32(0)
                if time < n and time + COPY > 0:
                    before: T.let[T.int64] = T.max(-time, T.int64(0))
                    after: T.let[T.int64] = T.min(n - time, T.int64(COPY))
                    for lane in T.serial(after - before):
                        tile[channel, chunk * COPY + before + lane] = element(
                            buffers.x, channel, time + before + lane, last
                        )
                    for lane in T.vectorized(COPY):
                        tile[channel, chunk * COPY + lane] = activate(
                            spec, tile[channel, chunk * COPY + lane], buffers, channel
                        )
                    for lane in T.serial(before):
                        tile[channel, chunk * COPY + lane] = T.float32(0)
                    for lane in T.serial(COPY - after):
                        tile[channel, chunk * COPY + after + lane] = T.float32(0)

    return fill


def _summed_together(taps: int) -> int:
    """Returns how many input channels are summed before the sum is added to the total: about 64 products.

    A sum of n products in one register loses about sqrt(n/2) units of rounding, and there are up to 3270.
    With 64, F0 and N are half as far from float64 as PyTorch's; shorter sums gain nothing more.
    """
    return 1 << int(math.log2(64 / taps))


def _register_tile(spec: Convolution, shape: RegisterTile) -> Any:
    """Returns a TIR macro that computes `shape.rows` output channels at `shape.columns` time steps."""
    chunk = _summed_together(spec.taps)

    def add_products(
        partial: Any, weight: Any, tile: Any, block: Any, source: Any, tap: Any, first_row: Any, column: Any
    ) -> None:
        with shape.each() as (row, vector, lane):
            factor = T.cast(weight[block, source, tap, first_row + row], "float32")
            sample = tile[source, column + vector * shape.lanes + lane + tap * spec.dilation]
            T.buffer_store(partial, partial[row, vector, lane] + factor * sample, [row, vector, lane])

    def store_all(total: Any, buffers: Buffers, channel: Any, time: Any) -> None:
        with shape.each() as (row, vector, lane):
            store_output(
                spec, total[row, vector, lane], buffers, channel + row, time + vector * shape.lanes + lane
            )

    @T.inline
    def compute(
        buffers: Any, tile: Any, block: Any, first_row: Any, column: Any, start: Any, length: Any
    ) -> None:
        total = T.alloc_buffer(tuple(shape), "float32", scope="local")
        partial = T.alloc_buffer(tuple(shape), "float32", scope="local")
        shape.clear(total)
        for part in T.serial(-(-spec.in_channels // chunk)):
            shape.clear(partial)
            for offset in T.serial(T.min(chunk, spec.in_channels - part * chunk)):
                for tap in T.unroll(spec.taps):
                    add_products(
                        partial, buffers.weight, tile, block, part * chunk + offset, tap, first_row, column
                    )
            shape.add(total, partial)
        channel: T.let[T.int64] = block * CHANNEL_BLOCK + first_row
        time: T.let[T.int64] = start + column
        if time + shape.columns <= length:
            store_all(total, buffers, channel, time)
        else:
            for row in T.unroll(shape.rows):
                for vector in T.unroll(shape.vectors):
                    for lane in T.serial(shape.lanes):
                        if time + vector * shape.lanes + lane < length:
                            store_output(
                                spec, total[row, vector, lane], buffers, channel + row,
                                time + vector * shape.lanes + lane,
                            )  # fmt: skip

    return compute


def _step_of_tiles(spec: Convolution, tiles: Tiles) -> Any:
    """Returns a TIR macro that computes the output of one block and step by the widest tile that fits.

    A whole tile takes `tiles.columns` time steps. At the end of the signal one vector or `NARROW` steps are
    enough, or one after the other.
    """
    rows, columns, narrow = tiles.channels, tiles.columns, NARROW
    one = max(tiles.lanes, narrow)
    whole_tile = _register_tile(spec, RegisterTile(rows, tiles.vectors, tiles.lanes))
    one_vector = _register_tile(spec, RegisterTile(rows, 1, tiles.lanes))
    narrow_tile = _register_tile(spec, RegisterTile(rows, 1, narrow))

    @T.inline
    def compute(
        buffers: Any, tile: Any, block: Any, first_row: Any, step: Any, start: Any, length: Any
    ) -> None:
        left: T.let[T.int64] = length - start - step * columns
        if left > columns - narrow:
            # The job's last tile overlaps the one before rather than going beyond the end.
            back: T.let[T.int64] = T.if_then_else(step > 0, T.max(columns - left, T.int64(0)), 0)
            whole_tile(buffers, tile, block, first_row, step * columns - back, start, length)
        elif left > 0:
            if one > narrow and left > narrow:
                one_vector(buffers, tile, block, first_row, step * columns, start, length)
            if left <= narrow or left > one:
                narrow_tile(
                    buffers, tile, block, first_row,
                    step * columns + T.if_then_else(left > one, one, 0), start, length,
                )  # fmt: skip

    return compute


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """Returns the kernel of `spec`: `convolution_function` has its arguments, `pack_weight` its weight."""
    span, blocks = sizes(spec, tiles)["span"], spec.out_channels // CHANNEL_BLOCK
    groups = math.gcd(blocks, _GROUPS[spec.width])
    group_blocks, halves = blocks // groups, CHANNEL_BLOCK // tiles.channels
    width = -(-(span + spec.dilation * (spec.taps - 1)) // COPY) * COPY
    fill, compute = _activated_tile(spec, width), _step_of_tiles(spec, tiles)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        # In memory, because TVM's simplifier takes forever over nested quotients.
        spans = T.alloc_buffer((1,), "int64", scope="global")
        spans[0] = T.floordiv(n + spec.growth + (span - 1), span)
        # Neighbouring jobs are neighbouring spans: the last one is short, and each core gets a part of it.
        for job in T.parallel(spans[0] * groups):
            tile = T.alloc_buffer((spec.in_channels, width), "float32", scope="global")
            start: T.let[T.int64] = T.floormod(job, spans[0]) * span
            first_block: T.let[T.int64] = T.floordiv(job, spans[0]) * group_blocks
            fill(tile, buffers, start - spec.padding, n)
            for block, half, step in T.grid(group_blocks, halves, span // tiles.columns):
                compute(
                    buffers, tile, first_block + block, half * tiles.channels, step, start, n + spec.growth
                )

    return convolution_function(spec, (blocks, spec.in_channels, spec.taps, CHANNEL_BLOCK), convolve)
