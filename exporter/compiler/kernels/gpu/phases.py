"""Resampling on a GPU, a thread for each output sample; buffers are those of `kernels.phases`."""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.function import kernel, length
from exporter.compiler.kernels.gpu.device_math import leaky_relu

THREADS = 256


def interleave(channels: int, stride: int, padding: int, reflect: bool) -> PrimFunc:
    """Joins phases to one signal and adds another to it."""
    n, extra = length(), int(reflect)
    joined = (1, (n - 1) * stride + extra, channels)

    @kernel(phases=(1, n, stride * channels), addend=joined, y=joined)
    def interleave_phases(phases: Any, addend: Any, y: Any) -> None:
        for block in T.thread_binding(
            T.floordiv(((n - 1) * stride + extra) * channels + (THREADS - 1), THREADS), thread="blockIdx.x"
        ):
            for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                index: T.let[T.int32] = T.cast(block, "int32") * THREADS + thread
                time: T.let[T.int32] = T.floordiv(index, channels)
                channel: T.let[T.int32] = index % channels
                # Sample 0 of a reflected signal is its sample 1 without the reflection.
                position: T.let[T.int32] = T.if_then_else(time >= extra, time - extra, 1) + padding
                if time < (T.cast(n, "int32") - 1) * stride + extra:
                    y[0, time, channel] = (
                        phases[0, T.floordiv(position, stride), position % stride * channels + channel]
                        + addend[0, time, channel]
                    )

    return interleave_phases


def fold(channels: int, stride: int, padding: int, extra: int) -> PrimFunc:
    """Cuts a zero-padded signal into phases."""
    n = length()

    @kernel(x=(1, channels, (n - 1) * stride + extra), y=(1, stride * channels, n))
    def fold_phases(x: Any, y: Any) -> None:
        for row in T.thread_binding(stride * channels, thread="blockIdx.y"):
            for block in T.thread_binding(T.floordiv(n + (THREADS - 1), THREADS), thread="blockIdx.x"):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    step: T.let[T.int32] = T.cast(block, "int32") * THREADS + thread
                    time: T.let[T.int32] = step * stride + T.floordiv(row, channels) - padding
                    if step < T.cast(n, "int32"):
                        y[0, row, step] = T.if_then_else(
                            time >= 0 and time < (T.cast(n, "int32") - 1) * stride + extra,
                            x[0, row % channels, time],
                            T.float32(0),
                        )

    return fold_phases


def upsample_pool(channels: int, slope: float) -> PrimFunc:
    """AdaIN's affine, leaky_relu and kokoro's pool; a thread writes two samples."""
    n = length()

    @kernel(
        x=(1, channels, n), affine=(3, channels), weight=(channels, 3), bias=(channels,),
        y=(1, channels, n * 2),
    )  # fmt: skip
    def upsample(x: Any, affine: Any, weight: Any, bias: Any, y: Any) -> None:
        for channel in T.thread_binding(channels, thread="blockIdx.y"):
            for block in T.thread_binding(T.floordiv(n + (THREADS - 1), THREADS), thread="blockIdx.x"):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    # Activated samples, here and a step further.
                    pair = T.alloc_buffer((2,), "float32", scope="local")
                    step: T.let[T.int32] = T.cast(block, "int32") * THREADS + thread
                    if step < T.cast(n, "int32"):
                        for ahead in T.unroll(2):
                            pair[ahead] = T.if_then_else(
                                step + ahead < T.cast(n, "int32"),
                                leaky_relu(
                                    (x[0, channel, step + ahead] - affine[0, channel]) * affine[1, channel]
                                    + affine[2, channel],
                                    slope,
                                ),
                                T.float32(0),
                            )
                        y[0, channel, step * 2] = weight[channel, 1] * pair[0] + bias[channel]
                        y[0, channel, step * 2 + 1] = (
                            weight[channel, 2] * pair[0] + weight[channel, 0] * pair[1] + bias[channel]
                        )

    return upsample


def halve() -> PrimFunc:
    """Conv1d(1, 1, 3, stride 2, padding 1) of a signal of even length."""
    n = length()

    @kernel(x=(1, n * 2), weight=(3,), bias=(1,), y=(1, 1, n))
    def halve_signal(x: Any, weight: Any, bias: Any, y: Any) -> None:
        for block in T.thread_binding(T.floordiv(n + (THREADS - 1), THREADS), thread="blockIdx.x"):
            for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                step: T.let[T.int32] = T.cast(block, "int32") * THREADS + thread
                if step < T.cast(n, "int32"):
                    y[0, 0, step] = (
                        weight[0] * T.if_then_else(step > 0, x[0, step * 2 - 1], T.float32(0))
                        + weight[1] * x[0, step * 2]
                        + weight[2] * x[0, step * 2 + 1]
                        + bias[0]
                    )

    return halve_signal
