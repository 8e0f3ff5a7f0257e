"""Direct one-dimensional convolution on a GPU, equal to `kernels.conv1d`, from the same weights.

A block of threads computes 64 channels at 128 time steps as a product of matrices: it puts some input
channels, activated and with the reach of the taps, and their weights into shared memory, and each thread sums
8 channels at 4 steps in registers. The sum over one chunk of input channels is added to the total apart, for
the reason that `kernels.conv1d` gives. Threads with neighbouring numbers have neighbouring time steps, so
they read the same weights.
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.convolution import (
    Convolution,
    apply_activation,
    apply_affine,
    convolution_function,
    element,
    store_output,
)
from exporter.compiler.kernels.gpu import device_math
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK

THREADS = 256
LANES = 32
"""Threads along time."""
STEPS = 4
"""Time steps of a thread, `LANES` apart."""
SPAN = LANES * STEPS
CHANNELS = 8
"""Output channels of a thread."""
BLOCKS = THREADS // LANES
"""Groups of that many output channels, one for each row of threads."""
_SHARED_BYTES = 20 * 1024
"""Shared memory that a chunk may take, less than all, so that a core of the GPU has several blocks."""
_MOST_CHANNELS = 16
"""Input channels of a chunk where memory would allow more."""


def chunk_channels(taps: int, dilation: int) -> int:
    """Input channels that are in shared memory together, a power of two."""
    bytes_each = 4 * (taps * BLOCKS * CHANNELS + SPAN + dilation * (taps - 1))
    channels = _MOST_CHANNELS
    while channels > 1 and channels * bytes_each > _SHARED_BYTES:
        channels //= 2
    return channels


def _load_input(spec: Convolution, channels: int, width: int) -> Any:
    """Returns a TIR macro that loads `width` activated samples of some channels; zero outside the signal."""
    last = spec.reads_channels_last

    @T.inline
    def load(tile: Any, buffers: Any, first_channel: Any, first: Any, length: Any, thread: Any) -> None:
        # Expressions are trees: what is used more than once is a number here.
        value = T.alloc_buffer((1,), "float32", scope="local")
        source = T.alloc_buffer((2,), "int32", scope="local")  # channel and time
        for turn in T.serial(-(-channels * width // THREADS)):
            index: T.let[T.int32] = turn * THREADS + thread
            # The input is read in the order of its memory.
            channel: T.let[T.int32] = index % channels if last else T.floordiv(index, width)
            column: T.let[T.int32] = T.floordiv(index, channels) if last else index % width
            source[0] = first_channel + channel
            source[1] = first + column
            if index < channels * width:
                value[0] = T.float32(0)
                if source[0] < spec.in_channels and source[1] >= 0 and source[1] < length:
                    value[0] = apply_affine(
                        spec, element(buffers.x, source[0], source[1], last), buffers, source[0]
                    )
                    value[0] = apply_activation(spec, value[0], buffers, source[0], device_math)
                tile[channel, column] = value[0]

    return load


def _load_weights(spec: Convolution, channels: int) -> Any:
    """Returns a TIR macro that loads the weights of some input channels for a block of threads."""
    products = channels * spec.taps
    size = BLOCKS * products * CHANNELS

    @T.inline
    def load(weights: Any, weight: Any, first_block: Any, first_channel: Any, thread: Any) -> None:
        for turn in T.serial(-(-size // THREADS)):
            index: T.let[T.int32] = turn * THREADS + thread
            block: T.let[T.int32] = T.floordiv(index, products * CHANNELS)
            product: T.let[T.int32] = T.floordiv(index, CHANNELS) % products
            source: T.let[T.int32] = first_channel + T.floordiv(product, spec.taps)
            place: T.let[T.int32] = (first_block + block) * CHANNELS + index % CHANNELS
            if index < size:
                weights[block, product, index % CHANNELS] = T.if_then_else(
                    place < spec.out_channels and source < spec.in_channels,
                    T.cast(
                        weight[
                            T.floordiv(place, CHANNEL_BLOCK),
                            source,
                            product % spec.taps,
                            place % CHANNEL_BLOCK,
                        ],
                        "float32",
                    ),
                    T.float32(0),
                )

    return load


def _multiply(spec: Convolution, channels: int) -> Any:
    """Returns a TIR macro that adds the products of one chunk to a thread's totals."""
    taps, dilation = spec.taps, spec.dilation

    @T.inline
    def multiply(tile: Any, weights: Any, row: Any, lane: Any, total: Any) -> None:
        partial = T.alloc_buffer((CHANNELS, STEPS), "float32", scope="local")
        factor = T.alloc_buffer((CHANNELS,), "float32", scope="local")
        signal = T.alloc_buffer((STEPS,), "float32", scope="local")
        for channel in T.unroll(CHANNELS):
            for step in T.unroll(STEPS):
                partial[channel, step] = T.float32(0)
        for source, tap in T.grid(channels, taps):
            for channel in T.unroll(CHANNELS):
                factor[channel] = weights[row, source * taps + tap, channel]
            for step in T.unroll(STEPS):
                signal[step] = tile[source, lane + step * LANES + tap * dilation]
            for channel in T.unroll(CHANNELS):
                for step in T.unroll(STEPS):
                    partial[channel, step] = partial[channel, step] + factor[channel] * signal[step]
        for channel in T.unroll(CHANNELS):
            for step in T.unroll(STEPS):
                total[channel, step] = total[channel, step] + partial[channel, step]

    return multiply


def _store(spec: Convolution) -> Any:
    """Returns a TIR macro that stores a thread's outputs; `place` is their first channel and time."""

    @T.inline
    def store(buffers: Any, total: Any, place: Any, length: Any) -> None:
        if place[0] < spec.out_channels:
            for step in T.unroll(STEPS):
                if place[1] + step * LANES < length:
                    for channel in T.unroll(CHANNELS):
                        store_output(
                            spec, total[channel, step], buffers, place[0] + channel,
                            place[1] + step * LANES, device_math,
                        )  # fmt: skip

    return store


def convolution(spec: Convolution) -> PrimFunc:
    """Returns the kernel of `spec`; its arguments are those of `kernels.conv1d.convolution`."""
    growth, out_blocks = spec.growth, spec.out_channels // CHANNEL_BLOCK
    channels, width = chunk_channels(spec.taps, spec.dilation), SPAN + spec.dilation * (spec.taps - 1)
    load_input, load_weights = _load_input(spec, channels, width), _load_weights(spec, channels)
    multiply, store = _multiply(spec, channels), _store(spec)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        for group in T.thread_binding(-(-spec.out_channels // (BLOCKS * CHANNELS)), thread="blockIdx.y"):
            for tile_number in T.thread_binding(
                T.floordiv(n + (growth + SPAN - 1), SPAN), thread="blockIdx.x"
            ):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    tile = T.alloc_buffer((channels, width), "float32", scope="shared")
                    weights = T.alloc_buffer(
                        (BLOCKS, channels * spec.taps, CHANNELS), "float32", scope="shared"
                    )
                    total = T.alloc_buffer((CHANNELS, STEPS), "float32", scope="local")
                    place = T.alloc_buffer((2,), "int32", scope="local")  # first channel and time
                    length: T.let[T.int32] = T.cast(n, "int32")
                    start: T.let[T.int32] = T.cast(tile_number, "int32") * SPAN
                    row: T.let[T.int32] = T.floordiv(thread, LANES)
                    lane: T.let[T.int32] = thread % LANES
                    for channel in T.unroll(CHANNELS):
                        for step in T.unroll(STEPS):
                            total[channel, step] = T.float32(0)
                    for chunk in T.serial(-(-spec.in_channels // channels)):
                        T.tvm_storage_sync("shared")
                        load_input(tile, buffers, chunk * channels, start - spec.padding, length, thread)
                        load_weights(weights, buffers.weight, group * BLOCKS, chunk * channels, thread)
                        T.tvm_storage_sync("shared")
                        multiply(tile, weights, row, lane, total)
                    place[0] = (group * BLOCKS + row) * CHANNELS
                    place[1] = start + lane
                    store(buffers, total, place, length + growth)

    return convolution_function(spec, (out_blocks, spec.in_channels, spec.taps, CHANNEL_BLOCK), convolve)
