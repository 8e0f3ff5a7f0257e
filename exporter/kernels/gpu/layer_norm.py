"""Layer normalisation over channels on a GPU; functions and buffers are those of `kernels.layer_norm`.

A block of threads normalises 32 time steps: threads with neighbouring numbers have neighbouring steps, and
eight of them share the channels of a step. The input is read once for each sum and once more at the end.
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.kernels.gpu.device_math import leaky_relu

LANES = 32
"""Time steps of a block of threads."""
ROWS = 8
THREADS = LANES * ROWS


@T.inline
def _sum_rows(total: Any, row: Any, lane: Any) -> None:
    """Replaces total[0] of each thread by the sum over the eight threads of its time step."""
    parts = T.alloc_buffer((ROWS, LANES), "float32", scope="shared")
    T.tvm_storage_sync("shared")
    parts[row, lane] = total[0]
    T.tvm_storage_sync("shared")
    total[0] = T.float32(0)
    for other in T.serial(ROWS):
        total[0] = total[0] + parts[other, lane]


@T.inline
def _statistics(
    x: Any, channels: Any, epsilon: Any, time: Any, row: Any, lane: Any, mean: Any, scale: Any
) -> None:
    """Sets mean and scale[0] = 1 / sqrt(variance + epsilon) of each thread's time step.

    mean[1] is what mean[0] is off by: taken off apart, it keeps the digits where the mean is much larger than
    the deviation (Chan, Golub and LeVeque, 1983).
    """
    total = T.alloc_buffer((1,), "float32", scope="local")
    mean[0] = T.float32(0)
    mean[1] = T.float32(0)
    for part in T.unroll(2):
        total[0] = T.float32(0)
        for turn in T.serial(-(-channels // ROWS)):
            if turn * ROWS + row < channels:
                total[0] = total[0] + (x[0, turn * ROWS + row, time] - mean[0])
        _sum_rows(total, row, lane)
        mean[part] = total[0] / T.float32(channels)
    total[0] = T.float32(0)
    for turn in T.serial(-(-channels // ROWS)):
        if turn * ROWS + row < channels:
            deviation: T.let[T.float32] = (x[0, turn * ROWS + row, time] - mean[0]) - mean[1]
            total[0] = total[0] + deviation * deviation
    _sum_rows(total, row, lane)
    scale[0] = T.float32(1) / T.sqrt(total[0] / T.float32(channels) + T.float32(epsilon))


def layer_norm(channels: int, *, epsilon: float, leaky_slope: float | None = None) -> PrimFunc:
    """Layer normalisation with a learned affine: activation(normalised * weight + bias)."""

    def activate(value: Any) -> Any:
        return value if leaky_slope is None else leaky_relu(value, leaky_slope)

    @T.prim_func(private=True, s_tir=True)
    def layer_norm(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, y_handle: T.handle
    ) -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, channels, n), "float32")
        weight = T.match_buffer(weight_handle, (channels,), "float32")
        bias = T.match_buffer(bias_handle, (channels,), "float32")
        y = T.match_buffer(y_handle, (1, channels, n), "float32")
        for block in T.thread_binding(T.floordiv(n + (LANES - 1), LANES), thread="blockIdx.x"):
            for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                mean = T.alloc_buffer((2,), "float32", scope="local")
                scale = T.alloc_buffer((1,), "float32", scope="local")
                row: T.let[T.int32] = T.floordiv(thread, LANES)
                lane: T.let[T.int32] = thread % LANES
                step: T.let[T.int32] = T.cast(block, "int32") * LANES + lane
                # Threads past the end compute the last step once more, and write nothing.
                time: T.let[T.int32] = T.min(step, T.cast(n, "int32") - 1)
                _statistics(x, channels, epsilon, time, row, lane, mean, scale)
                for turn in T.serial(-(-channels // ROWS)):
                    if turn * ROWS + row < channels and step < T.cast(n, "int32"):
                        y[0, turn * ROWS + row, step] = activate(
                            ((x[0, turn * ROWS + row, step] - mean[0]) - mean[1])
                            * scale[0]
                            * weight[turn * ROWS + row]
                            + bias[turn * ROWS + row]
                        )

    return layer_norm


def adaptive_layer_norm(channels: int, *, epsilon: float) -> PrimFunc:
    """StyleTTS 2's AdaLayerNorm, an affine from the style: (1 + gamma) * normalised + beta."""

    @T.prim_func(private=True, s_tir=True)
    def adaptive_layer_norm(x_handle: T.handle, style_handle: T.handle, y_handle: T.handle) -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, channels, n), "float32")
        style = T.match_buffer(style_handle, (1, 2 * channels), "float32")
        y = T.match_buffer(y_handle, (1, channels, n), "float32")
        for block in T.thread_binding(T.floordiv(n + (LANES - 1), LANES), thread="blockIdx.x"):
            for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                mean = T.alloc_buffer((2,), "float32", scope="local")
                scale = T.alloc_buffer((1,), "float32", scope="local")
                row: T.let[T.int32] = T.floordiv(thread, LANES)
                lane: T.let[T.int32] = thread % LANES
                step: T.let[T.int32] = T.cast(block, "int32") * LANES + lane
                time: T.let[T.int32] = T.min(step, T.cast(n, "int32") - 1)
                _statistics(x, channels, epsilon, time, row, lane, mean, scale)
                for turn in T.serial(-(-channels // ROWS)):
                    if turn * ROWS + row < channels and step < T.cast(n, "int32"):
                        y[0, turn * ROWS + row, step] = (T.float32(1) + style[0, turn * ROWS + row]) * (
                            ((x[0, turn * ROWS + row, step] - mean[0]) - mean[1]) * scale[0]
                        ) + style[0, channels + turn * ROWS + row]

    return adaptive_layer_norm
