"""Direct one-dimensional convolution, fused with the input activation, bias, residuals and scale.

Each convolution reads its input once and writes its output once. A job computes a group of output channels
for a span of time: it writes the activated input into a buffer (zero outside the signal, *after* the
activation, as a convolution's padding is), then runs register tiles of time x channels over it. A vector
holds neighbouring output channels, so that stored weights are widened as they are read, and a short signal
fills the registers. Linear layers are convolutions with one tap.

Input and output are channels first, [1, channels, time], or channels last, [1, time, channels], as `winograd`
reads and writes them.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import winograd_in_call
from exporter.compiler.kernels.activated_input import COPY, rows_of_channels, rows_of_time
from exporter.compiler.kernels.convolution import (
    Buffers,
    Convolution,
    Width,
    convolution_function,
    store_sum,
    with_bias,
)
from exporter.compiler.kernels.int8_weights import Half, Int8, summed_together
from exporter.compiler.kernels.register_tile import RegisterTile
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK, Sizes, Tiles

LAYOUT = f"conv[out/{CHANNEL_BLOCK},in,taps,{CHANNEL_BLOCK}]"
SCALES_LAYOUT = f"conv-scales[out/{CHANNEL_BLOCK},groups of in,{CHANNEL_BLOCK}]"
# Wide layers run at few time steps: short jobs and many groups of channels keep all cores busy there.
_SPANS: dict[Width, int] = {"narrow": 256, "medium": 128, "wide": 64}
"""Time steps of a job where the table has no measured value."""
_GROUPS: dict[Width, int] = {"narrow": 1, "medium": 2, "wide": 8}
"""Groups that the output channels are split into, if their number allows it."""


def padded_channels(channels: int) -> int:
    """Returns the output channels, rounded up to whole blocks."""
    return -(-channels // CHANNEL_BLOCK) * CHANNEL_BLOCK


def pack_weight(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Packs [out, in, taps] into [out/32, in, taps, 32], zero where `out` is not a multiple of 32."""
    out, channels, taps = weight.shape
    padded = np.zeros((padded_channels(out), channels, taps), np.float32)
    padded[:out] = weight
    blocks = padded.reshape(-1, CHANNEL_BLOCK, channels, taps)
    return np.ascontiguousarray(blocks.transpose(0, 2, 3, 1))


def pack_int8(numbers: Int8, scales: Half) -> tuple[Int8, Half]:
    """Packs numbers and scales of `int8_weights` as [out/32, in, taps, 32] and [out/32, groups, 32]."""
    packed = pack_weight(numbers.astype(np.float32)).astype(np.int8)
    # Channels that only fill a block have numbers of 0 and scales of 1.
    full = np.ones((padded_channels(len(scales)), scales.shape[1]), np.float16)
    full[: len(scales)] = scales
    return packed, np.ascontiguousarray(full.reshape(-1, CHANNEL_BLOCK, scales.shape[1]).transpose(0, 2, 1))


def table_row(spec: Convolution) -> str:
    """Returns the key of this kernel in the table of sizes."""
    return f"conv1d_{spec.width}"


def sizes(spec: Convolution, tiles: Tiles) -> Sizes:
    """Returns the time steps of a job, as `span`, which are rounded up to whole register tiles."""
    return tiles.sizes(table_row(spec), span=_SPANS[spec.width])


def _register_tile(spec: Convolution, shape: RegisterTile) -> Any:
    """Returns a TIR macro that computes `shape.columns` output channels at `shape.rows` time steps."""
    chunk = summed_together(spec.taps)

    def sum_products(partial: Any, weight: Any, tile: Any, place: Any, channels: Any) -> None:
        block, first_lane, first_channel, step = place

        def product(index: Any, number: Any) -> Any:
            row, vector, lane = index
            channel, tap = first_channel + T.floordiv(number, spec.taps), T.floormod(number, spec.taps)
            time = step + row + tap * spec.dilation
            factor = T.cast(weight[block, channel, tap, first_lane + vector * shape.lanes + lane], "float32")
            return factor * (tile[time, channel] if spec.reads_channels_last else tile[channel, time])

        # The first product takes the place of zeros, which LLVM would write by a call of memset.
        with shape.each() as index:
            T.buffer_store(partial, product(index, T.int64(0)), list(index))
        # Channels and taps are one loop: so weights are read in the order of memory, and LLVM keeps no
        # samples for the next tap in registers that the sums need.
        with T.serial(1, channels * spec.taps) as number, shape.each() as index:
            T.buffer_store(partial, partial[index] + product(index, number), list(index))

    def add_part(total: Any, partial: Any, buffers: Buffers, block: Any, part: Any, first_lane: Any) -> None:
        if buffers.scales is None:
            shape.add(total, partial)
            return
        with shape.each() as index:
            _, vector, lane = index
            scale = T.cast(buffers.scales[block, part, first_lane + vector * shape.lanes + lane], "float32")
            T.buffer_store(total, total[index] + partial[index] * scale, list(index))

    def add_bias(total: Any, buffers: Buffers, channel: Any) -> None:
        # A loop, because GELU in every row would be much code.
        with T.grid(shape.rows, shape.vectors) as (row, vector), T.vectorized(shape.lanes) as lane:
            value = with_bias(spec, total[row, vector, lane], buffers, channel + vector * shape.lanes + lane)
            T.buffer_store(total, value, [row, vector, lane])

    @T.inline
    def compute(
        buffers: Any, tile: Any, block: Any, first_lane: Any, step: Any, start: Any, length: Any
    ) -> None:
        total = T.alloc_buffer(tuple(shape), "float32", scope="local")
        partial = T.alloc_buffer(tuple(shape), "float32", scope="local")
        channel: T.let[T.int64] = block * CHANNEL_BLOCK + first_lane
        rows: T.let[T.int64] = T.min(T.int64(shape.rows), length - start - step)
        shape.clear(total)
        for part in T.serial(-(-spec.in_channels // chunk)):
            sum_products(
                partial, buffers.weight, tile, (block, first_lane, part * chunk, step),
                T.min(chunk, spec.in_channels - part * chunk),
            )  # fmt: skip
            add_part(total, partial, buffers, block, part, first_lane)
        add_bias(total, buffers, channel)
        if spec.writes_channels_last:
            for row, vector in T.grid(rows, shape.vectors):
                for lane in T.vectorized(shape.lanes):
                    store_sum(
                        spec, total[row, vector, lane], buffers,
                        channel + vector * shape.lanes + lane, start + step + row,
                    )  # fmt: skip
        else:
            for vector, lane, row in T.grid(shape.vectors, shape.lanes, rows):
                store_sum(
                    spec, total[row, vector, lane], buffers,
                    channel + vector * shape.lanes + lane, start + step + row,
                )  # fmt: skip

    return compute


def _step_of_tiles(spec: Convolution, tiles: Tiles) -> Any:
    """Returns a builder of code that computes one block of output channels from `step` on.

    A whole tile takes `tiles.steps` time steps. At the end of the signal a tile of as many as are left, or of
    one more, is enough.
    """
    shapes = [RegisterTile(rows, tiles.vectors, tiles.lanes) for rows in range(2, tiles.steps + 1, 2)]

    def compute(buffers: Any, tile: Any, block: Any, lane: Any, step: Any, start: Any, length: Any) -> None:
        pairs = T.floordiv(length - start - step + 1, 2)
        for shape in shapes:
            with T.If(T.min(pairs, tiles.steps // 2) == shape.rows // 2), T.Then():
                _register_tile(spec, shape)(buffers, tile, block, lane, step, start, length)

    return compute


def _direct(spec: Convolution, tiles: Tiles) -> Any:
    """Returns a TIR macro that computes `spec` from the `Buffers` and the length of its input."""
    tiles = tiles.for_weights(spec.weight_dtype)
    span = -(-sizes(spec, tiles)["span"] // tiles.steps) * tiles.steps
    blocks = spec.out_channels // CHANNEL_BLOCK
    groups, last = math.gcd(blocks, _GROUPS[spec.width]), spec.reads_channels_last
    reach = spec.dilation * (spec.taps - 1)
    width = -(-(span + tiles.steps + reach) // COPY) * COPY
    rows = (width, spec.in_channels) if last else (spec.in_channels, width)
    channels = () if last else (T.int64(0), T.int64(spec.in_channels))
    fill = rows_of_channels(spec) if last else rows_of_time(spec)
    compute = _step_of_tiles(spec, tiles)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        # In memory, because TVM's simplifier takes forever over nested quotients.
        spans = T.alloc_buffer((1,), "int64", scope="global")
        spans[0] = T.floordiv(n + spec.growth + (span - 1), span)
        # Neighbouring jobs are neighbouring spans: the last one is short, and each core gets a part of it.
        for job in T.parallel(spans[0] * groups):
            tile = T.alloc_buffer(rows, "float32", scope="global")
            own = T.alloc_buffer((1,), "int64", scope="local")  # register tiles along time
            start: T.let[T.int64] = T.floormod(job, spans[0]) * span
            first_block: T.let[T.int64] = T.floordiv(job, spans[0]) * (blocks // groups)
            own[0] = T.min(T.int64(span), n + spec.growth - start)
            own[0] = T.floordiv(own[0] + (tiles.steps - 1), tiles.steps)
            fill(tile, buffers, *channels, start - spec.padding, own[0] * tiles.steps + reach, n)
            for block, group, step in T.grid(blocks // groups, CHANNEL_BLOCK // tiles.columns, own[0]):
                compute(
                    buffers, tile, first_block + block, group * tiles.columns, step * tiles.steps, start,
                    n + spec.growth,
                )  # fmt: skip

    return convolve


def _by_length(spec: Convolution, tiles: Tiles) -> Any:
    """Returns a TIR macro that computes short outputs directly and the others by transforms."""
    direct, transforming = _direct(spec, tiles), winograd_in_call.body(spec, tiles)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        if n + spec.growth < winograd_in_call.FEWEST:
            direct(buffers, n)
        else:
            transforming(buffers, n)

    return convolve


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """Returns the kernel of `spec`: `convolution_function` has its arguments, `pack_weight` its weight.

    A weight of int8 has scales [out/32, groups, 32]; see `int8_weights`.
    """
    body = (_by_length if winograd_in_call.suits(spec) else _direct)(spec, tiles)
    blocks = spec.out_channels // CHANNEL_BLOCK
    weight = blocks, spec.in_channels, spec.taps, CHANNEL_BLOCK
    scales = blocks, -(-spec.in_channels // summed_together(spec.taps)), CHANNEL_BLOCK
    return convolution_function(spec, weight, body, scales if spec.weight_dtype == "int8" else None)
