"""Resampling on a GPU, a thread for each output sample; buffers are those of `kernels.phases`."""

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.gpu.device_math import leaky_relu

THREADS = 256


def interleave(channels: int, stride: int, padding: int, reflect: bool) -> PrimFunc:
    """Joins phases to one signal and adds another to it."""
    extra = int(reflect)

    @T.prim_func(private=True, s_tir=True)
    def interleave_phases(phases_handle: T.handle, addend_handle: T.handle, y_handle: T.handle) -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        phases = T.match_buffer(phases_handle, (1, n, stride * channels), "float32")
        addend = T.match_buffer(addend_handle, (1, (n - 1) * stride + extra, channels), "float32")
        y = T.match_buffer(y_handle, (1, (n - 1) * stride + extra, channels), "float32")
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

    @T.prim_func(private=True, s_tir=True)
    def fold_phases(x_handle: T.handle, y_handle: T.handle) -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, channels, (n - 1) * stride + extra), "float32")
        y = T.match_buffer(y_handle, (1, stride * channels, n), "float32")
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

    @T.prim_func(private=True, s_tir=True)
    def upsample(
        x_handle: T.handle, affine_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle,
        y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, channels, n), "float32")
        affine = T.match_buffer(affine_handle, (3, channels), "float32")
        weight = T.match_buffer(weight_handle, (channels, 3), "float32")
        bias = T.match_buffer(bias_handle, (channels,), "float32")
        y = T.match_buffer(y_handle, (1, channels, n * 2), "float32")
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

    @T.prim_func(private=True, s_tir=True)
    def halve_signal(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, y_handle: T.handle
    ) -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, n * 2), "float32")
        weight = T.match_buffer(weight_handle, (3,), "float32")
        bias = T.match_buffer(bias_handle, (1,), "float32")
        y = T.match_buffer(y_handle, (1, 1, n), "float32")
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
