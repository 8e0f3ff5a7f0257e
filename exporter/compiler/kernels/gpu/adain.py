"""Adaptive instance normalisation as an affine map on a GPU; the formulas are those of `kernels.adain`.

Statistics are taken in two levels: threads sum parts of the time axis, and the parts are merged in an order
that does not depend on the schedule. Each level centres its sums, so that a mean much larger than the
deviation costs no digits (Chan, Golub and LeVeque, 1983), in float32 alone.
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.adain import adain_function, store_affine
from exporter.compiler.kernels.gpu.rows import LANES, ROWS, THREADS, sum_rows

SEGMENTS = 128
"""Parts of the time axis if the channels are last."""


def _sum(threads: int) -> Any:
    """Returns a TIR macro that sums the two `values` of each thread over all threads, a power of two."""

    @T.inline
    def reduce(values: Any, thread: Any) -> None:
        parts = T.alloc_buffer((2, threads), "float32", scope="shared")
        for level in T.unroll(threads.bit_length() - 1):
            T.tvm_storage_sync("shared")
            for column in T.unroll(2):
                parts[column, thread] = values[column]
            T.tvm_storage_sync("shared")
            for column in T.unroll(2):
                values[column] = values[column] + parts[column, thread ^ (1 << level)]

    return reduce


def _write_affine(channels: int, style: int, epsilon: float, threads: int) -> Any:
    """Returns a TIR macro by which the threads of a block write mean, scale and shift of one channel."""
    reduce = _sum(threads)

    @T.inline
    def write(arguments: Any, mean: Any, variance: Any, channel: Any, thread: Any) -> None:
        linear = T.alloc_buffer((2,), "float32", scope="local")  # gamma, beta
        for part in T.unroll(2):
            linear[part] = T.float32(0)
            for turn in T.serial(-(-style // threads)):
                if turn * threads + thread < style:
                    linear[part] = linear[part] + arguments.styles[0, turn * threads + thread] * T.cast(
                        arguments.fc_weight[part * channels + channel, turn * threads + thread], "float32"
                    )
        reduce(linear, thread)
        if thread == 0:
            for part in T.unroll(2):
                linear[part] = linear[part] + arguments.fc_bias[part * channels + channel]
            store_affine(arguments, channel, mean, variance, linear, epsilon)

    return write


def adain_affine(
    channels: int, style: int, epsilon: float, weight_dtype: str = "float32", takes_statistics: bool = False
) -> PrimFunc:
    """Returns the kernel for channels first, a block of threads for each channel."""
    reduce, write_affine = _sum(THREADS), _write_affine(channels, style, epsilon, THREADS)

    @T.inline
    def reduce_to_affine(arguments: Any, n: Any) -> None:
        for channel in T.thread_binding(channels, thread="blockIdx.x"):
            for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                sums = T.alloc_buffer((2,), "float32", scope="local")
                mean = T.alloc_buffer((1,), "float32", scope="local")
                length: T.let[T.int32] = T.cast(n, "int32")
                turns: T.let[T.int32] = T.floordiv(length + (THREADS - 1), THREADS)
                sums[0] = T.float32(0)
                sums[1] = T.float32(0)
                for turn in T.serial(turns):
                    if turn * THREADS + thread < length:
                        sums[0] = sums[0] + arguments.x[0, channel, turn * THREADS + thread]
                reduce(sums, thread)
                mean[0] = sums[0] / T.cast(length, "float32")
                sums[0] = T.float32(0)
                for turn in T.serial(turns):
                    if turn * THREADS + thread < length:
                        deviation: T.let[T.float32] = (
                            arguments.x[0, channel, turn * THREADS + thread] - mean[0]
                        )
                        sums[0] = sums[0] + deviation
                        sums[1] = sums[1] + deviation * deviation
                reduce(sums, thread)
                # The error of the first mean, around which the squares were taken.
                sums[0] = sums[0] / T.cast(length, "float32")
                sums[1] = sums[1] / T.cast(length, "float32") - sums[0] * sums[0]
                write_affine(arguments, mean[0] + sums[0], sums[1], channel, thread)

    return adain_function(channels, style, False, reduce_to_affine, weight_dtype, takes_statistics)


_sum_rows = sum_rows(2)


@T.inline
def _sum_segment(
    x: Any, first: Any, count: Any, channel: Any, row: Any, lane: Any, mean: Any, sums: Any
) -> None:
    """Sets mean, its correction and sums[1], the squared deviations, of each lane's channel.

    All are 0 if the segment has no time steps. The correction is the error of the mean in float32.
    """
    turns: T.let[T.int32] = T.floordiv(count + (ROWS - 1), ROWS)
    sums[0] = T.float32(0)
    sums[1] = T.float32(0)
    for turn in T.serial(turns):
        if turn * ROWS + row < count:
            sums[0] = sums[0] + x[0, first + turn * ROWS + row, channel]
    _sum_rows(sums, row, lane)
    mean[0] = sums[0] / T.cast(T.max(count, 1), "float32")
    sums[0] = T.float32(0)
    for turn in T.serial(turns):
        if turn * ROWS + row < count:
            deviation: T.let[T.float32] = x[0, first + turn * ROWS + row, channel] - mean[0]
            sums[0] = sums[0] + deviation
            sums[1] = sums[1] + deviation * deviation
    _sum_rows(sums, row, lane)
    mean[1] = sums[0] / T.cast(T.max(count, 1), "float32")
    sums[1] = sums[1] - sums[0] * mean[1]


def adain_affine_channels_last(
    channels: int, style: int, epsilon: float, weight_dtype: str = "float32", takes_statistics: bool = False
) -> PrimFunc:
    """Returns the kernel for channels last: a launch for each segment's statistics, one that merges them."""
    if channels % LANES:
        raise ValueError(f"{channels} channels are not a multiple of {LANES}")
    reduce, write_affine = _sum(SEGMENTS), _write_affine(channels, style, epsilon, SEGMENTS)

    @T.inline
    def reduce_to_affine(arguments: Any, n: Any) -> None:
        # mean, its correction, squared deviations
        segments = T.alloc_buffer((3, SEGMENTS, channels), "float32", scope="global")
        for segment in T.thread_binding(SEGMENTS, thread="blockIdx.x"):
            for group in T.thread_binding(channels // LANES, thread="blockIdx.y"):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    mean = T.alloc_buffer((2,), "float32", scope="local")
                    sums = T.alloc_buffer((2,), "float32", scope="local")
                    row: T.let[T.int32] = T.floordiv(thread, LANES)
                    channel: T.let[T.int32] = group * LANES + thread % LANES
                    length: T.let[T.int32] = T.cast(n, "int32")
                    first: T.let[T.int32] = T.floordiv(length * segment, SEGMENTS)
                    count: T.let[T.int32] = T.floordiv(length * (segment + 1), SEGMENTS) - first
                    _sum_segment(arguments.x, first, count, channel, row, thread % LANES, mean, sums)
                    if row == 0:
                        segments[0, segment, channel] = mean[0]
                        segments[1, segment, channel] = mean[1]
                        segments[2, segment, channel] = sums[1]
        for channel in T.thread_binding(channels, thread="blockIdx.x"):
            for segment in T.thread_binding(SEGMENTS, thread="threadIdx.x"):
                mean = T.alloc_buffer((2,), "float32", scope="local")  # of all, this segment's less that
                sums = T.alloc_buffer((2,), "float32", scope="local")
                total: T.let[T.int32] = T.cast(n, "int32")
                size: T.let[T.float32] = T.cast(
                    T.floordiv(total * (segment + 1), SEGMENTS) - T.floordiv(total * segment, SEGMENTS),
                    "float32",
                )
                # Means are summed as deviations from that of the last segment, which is never empty, and then
                # from the mean that this gives. Corrections stay apart: fast math would add them first.
                mean[0] = segments[0, SEGMENTS - 1, channel]
                for _ in T.unroll(2):
                    sums[0] = size * (segments[0, segment, channel] - mean[0])
                    sums[1] = size * segments[1, segment, channel]
                    reduce(sums, segment)
                    mean[0] = mean[0] + (sums[0] + sums[1]) / T.cast(total, "float32")
                mean[1] = segments[0, segment, channel] - mean[0]
                sums[0] = segments[2, segment, channel] + size * (mean[1] * mean[1])
                sums[1] = size * (
                    (mean[1] + mean[1] + segments[1, segment, channel]) * segments[1, segment, channel]
                )
                reduce(sums, segment)
                write_affine(
                    arguments, mean[0], (sums[0] + sums[1]) / T.cast(total, "float32"), channel, segment
                )

    return adain_function(channels, style, True, reduce_to_affine, weight_dtype, takes_statistics)
