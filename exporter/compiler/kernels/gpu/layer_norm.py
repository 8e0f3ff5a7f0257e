"""Layer normalisation over channels on a GPU; functions and buffers are those of `kernels.layer_norm`.

A block of threads normalises 32 time steps: threads with neighbouring numbers have neighbouring steps, and
eight of them share the channels of a step. The input is read once for each sum and once more at the end.
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.gpu.device_math import leaky_relu, multiply_add
from exporter.compiler.kernels.gpu.rows import LANES, ROWS, THREADS, sum_rows
from exporter.compiler.kernels.layer_norm import (
    adaptive_layer_norm_function,
    layer_norm_function,
)

_sum_rows = sum_rows(1)


@T.inline
def _statistics(
    x: Any, channels: Any, epsilon: Any, time: Any, row: Any, lane: Any, mean: Any, scale: Any
) -> None:
    """Sets mean and scale[0] = 1 / sqrt(variance + epsilon) of each thread's time step.

    mean[1] is the error of mean[0]. It is subtracted separately, which keeps the digits of a mean much larger
    than the deviation (Chan, Golub and LeVeque, 1983).
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


def _normalise(channels: int, epsilon: float) -> Any:
    """Returns a TIR macro that computes y = finish(normalised x, channel) for all time steps."""

    @T.inline
    def normalise(x: Any, y: Any, n: Any, finish: Any) -> None:
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
                        y[0, turn * ROWS + row, step] = finish(
                            ((x[0, turn * ROWS + row, step] - mean[0]) - mean[1]) * scale[0],
                            turn * ROWS + row,
                        )

    return normalise


def layer_norm(channels: int, epsilon: float, leaky_slope: float | None = None) -> PrimFunc:
    """Layer normalisation with a learned affine: activation(normalised * weight + bias)."""
    return layer_norm_function(channels, _normalise(channels, epsilon), multiply_add, leaky_relu, leaky_slope)


def adaptive_layer_norm(channels: int, epsilon: float) -> PrimFunc:
    """StyleTTS 2's AdaLayerNorm, an affine from the style: (1 + gamma) * normalised + beta."""
    return adaptive_layer_norm_function(channels, _normalise(channels, epsilon), multiply_add)
