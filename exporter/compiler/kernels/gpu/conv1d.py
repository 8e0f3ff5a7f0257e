"""Direct one-dimensional convolution on a GPU: what `kernels.conv1d` computes, from the same weights.

A block of threads computes 64 channels at 128 time steps as a product of matrices: it puts some input
channels, activated and with the reach of the taps, and their weights into shared memory, and each thread sums
8 channels at 4 steps in registers. The sum over one chunk of input channels is added to the total apart, for
the reason that `kernels.conv1d` gives. Threads with neighbouring numbers have neighbouring time steps, so
they read the same weights.
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.conv1d import Convolution, bend, finish, normalise, place, sample
from exporter.compiler.kernels.gpu import device_math
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK

THREADS = 256
LANES = 32
"""Threads along time."""
STEPS = 4
"""Time steps of a thread, `LANES` apart."""
SPAN = LANES * STEPS
BLOCKS = THREADS // LANES
"""Blocks of output channels, one for each row of threads."""
_SHARED_BYTES = 20 * 1024
"""Shared memory that a chunk may take, less than all, so that a core of the GPU has several blocks."""
_MOST_CHANNELS = 16
"""Input channels of a chunk where memory would allow more."""


def chunk_channels(taps: int, dilation: int) -> int:
    """Input channels that are in shared memory together, a power of two."""
    bytes_each = 4 * (taps * BLOCKS * CHANNEL_BLOCK + SPAN + dilation * (taps - 1))
    channels = _MOST_CHANNELS
    while channels > 1 and channels * bytes_each > _SHARED_BYTES:
        channels //= 2
    return channels


def _load_input(spec: Convolution, channels: int, width: int) -> Any:
    """A TIR macro: `width` activated samples of some channels; zero outside the signal."""
    last = spec.reads_channels_last

    @T.inline
    def load(
        tile: Any, x: Any, first_channel: Any, first: Any, length: Any, affine: Any, alpha: Any, thread: Any
    ) -> None:
        # Expressions are trees: what is used more than once is a number here.
        value = T.alloc_buffer((1,), "float32", scope="local")
        source = T.alloc_buffer((2,), "int32", scope="local")  # channel and time
        for turn in T.serial(-(-channels * width // THREADS)):
            index: T.let[T.int32] = turn * THREADS + thread
            # In the order in which the input lies in memory.
            channel: T.let[T.int32] = index % channels if last else T.floordiv(index, width)
            column: T.let[T.int32] = T.floordiv(index, channels) if last else index % width
            source[0] = first_channel + channel
            source[1] = first + column
            if index < channels * width:
                value[0] = T.float32(0)
                if source[0] < spec.in_channels and source[1] >= 0 and source[1] < length:
                    value[0] = normalise(spec, sample(x, source[0], source[1], last), affine, source[0])
                    value[0] = bend(spec, value[0], alpha, source[0], device_math)
                tile[channel, column] = value[0]

    return load


def _load_weights(spec: Convolution, channels: int) -> Any:
    """A TIR macro: the weights of some input channels to the output channels of this block of threads."""
    products = channels * spec.taps
    size = BLOCKS * products * CHANNEL_BLOCK

    @T.inline
    def load(weights: Any, weight: Any, first_block: Any, first_channel: Any, thread: Any) -> None:
        for turn in T.serial(-(-size // THREADS)):
            index: T.let[T.int32] = turn * THREADS + thread
            block: T.let[T.int32] = T.floordiv(index, products * CHANNEL_BLOCK)
            product: T.let[T.int32] = T.floordiv(index, CHANNEL_BLOCK) % products
            channel: T.let[T.int32] = first_channel + T.floordiv(product, spec.taps)
            if index < size:
                weights[block, product, index % CHANNEL_BLOCK] = T.if_then_else(
                    first_block + block < spec.out_channels // CHANNEL_BLOCK and channel < spec.in_channels,
                    weight[first_block + block, channel, product % spec.taps, index % CHANNEL_BLOCK],
                    T.float32(0),
                )

    return load


def _multiply(spec: Convolution, channels: int) -> Any:
    """A TIR macro that adds the products of one chunk to a thread's totals."""
    taps, dilation = spec.taps, spec.dilation

    @T.inline
    def multiply(tile: Any, weights: Any, row: Any, lane: Any, total: Any) -> None:
        partial = T.alloc_buffer((CHANNEL_BLOCK, STEPS), "float32", scope="local")
        factor = T.alloc_buffer((CHANNEL_BLOCK,), "float32", scope="local")
        signal = T.alloc_buffer((STEPS,), "float32", scope="local")
        for channel in T.unroll(CHANNEL_BLOCK):
            for step in T.unroll(STEPS):
                partial[channel, step] = T.float32(0)
        for source, tap in T.grid(channels, taps):
            for channel in T.unroll(CHANNEL_BLOCK):
                factor[channel] = weights[row, source * taps + tap, channel]
            for step in T.unroll(STEPS):
                signal[step] = tile[source, lane + step * LANES + tap * dilation]
            for channel in T.unroll(CHANNEL_BLOCK):
                for step in T.unroll(STEPS):
                    partial[channel, step] = partial[channel, step] + factor[channel] * signal[step]
        for channel in T.unroll(CHANNEL_BLOCK):
            for step in T.unroll(STEPS):
                total[channel, step] = total[channel, step] + partial[channel, step]

    return multiply


def convolution(spec: Convolution) -> PrimFunc:
    """The kernel of `spec`; buffers as those of `kernels.conv1d.convolution`."""
    out_channels, in_channels, taps = spec.out_channels, spec.in_channels, spec.taps
    growth, padding, out_blocks = spec.growth, spec.padding, spec.out_channels // CHANNEL_BLOCK
    channels, width = chunk_channels(taps, spec.dilation), SPAN + spec.dilation * (taps - 1)
    load_input, load_weights = _load_input(spec, channels, width), _load_weights(spec, channels)
    multiply = _multiply(spec, channels)

    @T.prim_func(private=True, s_tir=True)
    def conv1d(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
        alpha_handle: T.handle, residual_handle: T.handle, other_handle: T.handle, y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, spec.input_shape(n), "float32")
        weight = T.match_buffer(weight_handle, (out_blocks, in_channels, taps, CHANNEL_BLOCK), "float32")
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
        for group in T.thread_binding(-(-out_blocks // BLOCKS), thread="blockIdx.y"):
            for tile_number in T.thread_binding(
                T.floordiv(n + (growth + SPAN - 1), SPAN), thread="blockIdx.x"
            ):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    tile = T.alloc_buffer((channels, width), "float32", scope="shared")
                    weights = T.alloc_buffer(
                        (BLOCKS, channels * taps, CHANNEL_BLOCK), "float32", scope="shared"
                    )
                    total = T.alloc_buffer((CHANNEL_BLOCK, STEPS), "float32", scope="local")
                    target = T.alloc_buffer((2,), "int32", scope="local")  # first channel and time
                    length: T.let[T.int32] = T.cast(n, "int32")
                    start: T.let[T.int32] = T.cast(tile_number, "int32") * SPAN
                    row: T.let[T.int32] = T.floordiv(thread, LANES)
                    lane: T.let[T.int32] = thread % LANES
                    for channel in T.unroll(CHANNEL_BLOCK):
                        for step in T.unroll(STEPS):
                            total[channel, step] = T.float32(0)
                    for chunk in T.serial(-(-in_channels // channels)):
                        T.tvm_storage_sync("shared")
                        load_input(tile, x, chunk * channels, start - padding, length, affine, alpha, thread)
                        load_weights(weights, weight, group * BLOCKS, chunk * channels, thread)
                        T.tvm_storage_sync("shared")
                        multiply(tile, weights, row, lane, total)
                    target[0] = (group * BLOCKS + row) * CHANNEL_BLOCK
                    target[1] = start + lane
                    if target[0] < out_channels:
                        for step in T.unroll(STEPS):
                            if target[1] + step * LANES < length + growth:
                                for channel in T.unroll(CHANNEL_BLOCK):
                                    T.buffer_store(
                                        y,
                                        finish(
                                            spec, total[channel, step], bias, residual, other,
                                            target[0] + channel, target[1] + step * LANES, device_math,
                                        ),
                                        place(
                                            target[0] + channel, target[1] + step * LANES,
                                            spec.writes_channels_last,
                                        ),
                                    )  # fmt: skip

    return conv1d
