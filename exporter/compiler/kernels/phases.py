"""Resampling as dense phases: the parts of strided and transposed convolutions that only move samples.

A transposed convolution whose kernel is twice its stride is a convolution of two taps to stride x channels
phases, which `interleave` then puts in order. A strided convolution of the same kind reads a signal that
`fold` has cut into phases. Channel order of phases is (phase, channel).
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel, length


def interleave(channels: int, stride: int, padding: int, reflect: bool) -> PrimFunc:
    """Joins phases to one signal, cut as ConvTranspose1d's padding does, and adds another signal to it.

    Channels are last, so that the phases of a step follow each other in memory as the samples do.

    Buffers, float32: phases [1, n + 1, stride * channels]; addend and output [1, m, channels] with
    m = stride * n, plus 1 with `reflect`, which puts sample 1 before sample 0 as ReflectionPad1d((1, 0)).
    """
    n, extra = length(), int(reflect)
    joined = (1, (n - 1) * stride + extra, channels)

    @kernel(phases=(1, n, stride * channels), addend=joined, y=joined)
    def interleave_phases(phases: Any, addend: Any, y: Any) -> None:
        for step in T.parallel(n):
            for phase in T.serial(stride):
                time: T.let[T.int64] = step * stride + phase - padding
                if time >= 0 and time < (n - 1) * stride:
                    for channel in T.vectorized(channels):
                        y[0, time + extra, channel] = (
                            phases[0, step, phase * channels + channel] + addend[0, time + extra, channel]
                        )
                if extra == 1 and time == 1:
                    for channel in T.vectorized(channels):
                        y[0, 0, channel] = phases[0, step, phase * channels + channel] + addend[0, 0, channel]

    return interleave_phases


def fold(channels: int, stride: int, padding: int, extra: int) -> PrimFunc:
    """Cuts a zero-padded signal into phases: y[phase * channels + c, j] = padded x[c, j * stride + phase].

    Buffers, float32: x [1, channels, stride * n + extra]; output [1, stride * channels, n + 1].
    """
    n = length()

    @kernel(x=(1, channels, (n - 1) * stride + extra), y=(1, stride * channels, n))
    def fold_phases(x: Any, y: Any) -> None:
        for row in T.parallel(stride * channels):
            for step in T.serial(n):
                time: T.let[T.int64] = step * stride + T.floordiv(row, channels) - padding
                y[0, row, step] = T.if_then_else(
                    time >= 0 and time < (n - 1) * stride + extra,
                    x[0, T.floormod(row, channels), time],
                    T.float32(0),
                )

    return fold_phases


def upsample_pool(channels: int, slope: float) -> PrimFunc:
    """AdaIN's affine, leaky_relu and kokoro's pool.

    The pool is ConvTranspose1d(groups=channels, kernel 3, stride 2, padding 1, output_padding 1).

    Buffers, float32: x [1, channels, n]; affine [3, channels]; weight [channels, 3]; bias [channels]; output
    [1, channels, 2 * n].
    """
    n = length()

    @kernel(
        x=(1, channels, n), affine=(3, channels), weight=(channels, 3), bias=(channels,),
        y=(1, channels, n * 2),
    )  # fmt: skip
    def upsample(x: Any, affine: Any, weight: Any, bias: Any, y: Any) -> None:
        for channel in T.parallel(channels):
            pair = T.alloc_buffer((2,), "float32", scope="local")  # activated samples at step and step + 1
            pair[1] = vector_math.leaky_relu(
                (x[0, channel, 0] - affine[0, channel]) * affine[1, channel] + affine[2, channel], slope
            )
            for step in T.serial(n):
                pair[0] = pair[1]
                if step + 1 < n:
                    pair[1] = vector_math.leaky_relu(
                        (x[0, channel, step + 1] - affine[0, channel]) * affine[1, channel]
                        + affine[2, channel],
                        slope,
                    )
                else:
                    pair[1] = T.float32(0)
                y[0, channel, step * 2] = weight[channel, 1] * pair[0] + bias[channel]
                y[0, channel, step * 2 + 1] = (
                    weight[channel, 2] * pair[0] + weight[channel, 0] * pair[1] + bias[channel]
                )

    return upsample


def halve() -> PrimFunc:
    """Conv1d(1, 1, 3, stride 2, padding 1) of a signal of even length.

    Buffers, float32: x [1, 2 * n]; weight [3]; bias [1]; output [1, 1, n].
    """
    n = length()

    @kernel(x=(1, n * 2), weight=(3,), bias=(1,), y=(1, 1, n))
    def halve_signal(x: Any, weight: Any, bias: Any, y: Any) -> None:
        for step in T.serial(n):
            y[0, 0, step] = (
                weight[0] * T.if_then_else(step > 0, x[0, step * 2 - 1], T.float32(0))
                + weight[1] * x[0, step * 2]
                + weight[2] * x[0, step * 2 + 1]
                + bias[0]
            )

    return halve_signal
