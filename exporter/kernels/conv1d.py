"""Direct one-dimensional convolution: activation on the way in; bias, residuals and scale on the way out.

A tensor is read once and written once for each convolution. A job takes a tile of time and a group of
output channels: it activates the input tile into a buffer (zero outside the signal, *after* the activation,
as a convolution's padding is), then runs register tiles of channels x time over it. Linear layers are
convolutions with one tap.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.kernels import vector_math
from exporter.kernels.tiles import CHANNEL_BLOCK, Tiles

InputActivation = Literal["none", "leaky_relu", "adain_leaky_relu", "adain_snake"]
OutputActivation = Literal["none", "gelu"]
LAYOUT = f"conv[out/{CHANNEL_BLOCK},in,taps,{CHANNEL_BLOCK}]"
COPY = 16
"""The activated input is written by vectors of this many steps on every level."""


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


@dataclass(frozen=True)
class Convolution:
    """What one convolution kernel does; equal values share one kernel.

    Attributes:
        out_channels: output channels, a multiple of `CHANNEL_BLOCK`.
        in_channels: input channels.
        taps: kernel size.
        dilation: distance between taps.
        padding: zeros on both sides.
        activation: applied to the input; the two with AdaIN first apply (x - mean) * scale + shift.
        slope: of leaky_relu.
        output_activation: applied after the bias, before residuals.
        residuals: tensors of the output's shape that are added (0, 1 or 2).
        scale: factor of the sum.
    """

    out_channels: int
    in_channels: int
    taps: int
    dilation: int = 1
    padding: int = 0
    activation: InputActivation = "none"
    slope: float = 0.0
    output_activation: OutputActivation = "none"
    residuals: int = 0
    scale: float = 1.0

    @property
    def growth(self) -> int:
        """Output length less input length."""
        return 2 * self.padding - self.dilation * (self.taps - 1)

    @property
    def affine_shape(self) -> tuple[int, ...]:
        """Shape of the argument `affine`; one number where there is no AdaIN."""
        return (self.in_channels, 3) if self.activation.startswith("adain") else (1,)

    @property
    def alpha_shape(self) -> tuple[int, ...]:
        """Shape of the argument `alpha`; one number where there is no Snake."""
        return (self.in_channels, 2) if self.activation == "adain_snake" else (1,)

    def schedule(self) -> tuple[int, int]:
        """Time steps of a job, and groups that the output channels are split into.

        Wide layers run at few time steps: short tiles and many channel groups keep all cores busy there.
        """
        blocks = self.out_channels // CHANNEL_BLOCK
        if self.out_channels >= 512:
            return 64, math.gcd(blocks, 8)
        return (128, math.gcd(blocks, 2)) if self.out_channels >= 256 else (256, 1)


def activate(spec: Convolution, x: Any, affine: Any, alpha: Any, channel: Any) -> Any:
    """The input activation of one sample as a TIR expression."""
    if spec.activation == "none":
        return x
    if spec.activation == "leaky_relu":
        return vector_math.leaky_relu(x, spec.slope)
    normed = (x - affine[channel, 0]) * affine[channel, 1] + affine[channel, 2]
    if spec.activation == "adain_leaky_relu":
        return vector_math.leaky_relu(normed, spec.slope)
    return vector_math.snake(normed, alpha[channel, 0], alpha[channel, 1])


def finish(
    spec: Convolution, total: Any, bias: Any, residual: Any, other: Any, channel: Any, time: Any
) -> Any:
    """Bias, output activation, residuals and scale of one sample as a TIR expression."""
    total = total + bias[channel]
    if spec.output_activation == "gelu":
        total = vector_math.gelu_new(total)
    if spec.residuals > 0:
        total = total + residual[0, channel, time]
    if spec.residuals > 1:
        total = total + other[0, channel, time]
    return total if spec.scale == 1.0 else total * T.float32(spec.scale)


def activated_row(spec: Convolution, width: int) -> Any:
    """A TIR macro that writes `width` activated samples from `first` on; zero outside the signal."""

    @T.inline
    def fill(tile: Any, row: Any, x: Any, channel: Any, first: Any, n: Any, affine: Any, alpha: Any) -> None:
        for chunk in T.serial(width // COPY):
            time: T.let[T.int64] = first + chunk * COPY
            if time >= 0 and time + COPY <= n:
                for lane in T.vectorized(COPY):
                    tile[row, chunk * COPY + lane] = activate(
                        spec, x[0, channel, time + lane], affine, alpha, channel
                    )
            else:
                for lane in T.serial(COPY):
                    tile[row, chunk * COPY + lane] = T.if_then_else(
                        time + lane >= 0 and time + lane < n, x[0, channel, time + lane], T.float32(0)
                    )
                for lane in T.vectorized(COPY):
                    tile[row, chunk * COPY + lane] = activate(
                        spec, tile[row, chunk * COPY + lane], affine, alpha, channel
                    )
                for lane in T.serial(COPY):
                    if time + lane < 0 or time + lane >= n:
                        tile[row, chunk * COPY + lane] = T.float32(0)

    return fill


def _summed_together(taps: int) -> int:
    """Input channels summed in one go, before the sum is added to the total: about 64 products.

    A sum of n products in one register loses about sqrt(n/2) units of rounding, and there are up to 3270.
    With 64, F0 and N are half as far from float64 as PyTorch's; shorter sums gain nothing more.
    """
    return 1 << int(math.log2(64 / taps))


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """The kernel of `spec`.

    Buffers, float32: x [1, in, n]; weight [out/8, in, taps, 8]; bias [out]; affine [in, 3] (mean, scale,
    shift) with AdaIN, else [1]; alpha [in, 2] (alpha, 1/alpha) with Snake, else [1]; residual and other
    [1, out, n + growth] where used, else [1]; the output [1, out, n + growth].
    """
    out_channels, in_channels, taps = spec.out_channels, spec.in_channels, spec.taps
    dilation, pad, growth = spec.dilation, spec.padding, spec.growth
    span, groups = spec.schedule()
    lanes, rows, vectors, columns = tiles.lanes, tiles.channels, tiles.vectors, tiles.columns
    halves = CHANNEL_BLOCK // rows
    chunk_channels = _summed_together(taps)
    group_blocks = out_channels // CHANNEL_BLOCK // groups
    width = -(-(span + dilation * (taps - 1)) // COPY) * COPY
    fill_row = activated_row(spec, width)

    @T.prim_func(private=True, s_tir=True)
    def conv1d(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
        alpha_handle: T.handle, residual_handle: T.handle, other_handle: T.handle, y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, (1, in_channels, n), "float32")
        weight = T.match_buffer(
            weight_handle, (out_channels // CHANNEL_BLOCK, in_channels, taps, CHANNEL_BLOCK), "float32"
        )
        bias = T.match_buffer(bias_handle, (out_channels,), "float32")
        affine = T.match_buffer(affine_handle, spec.affine_shape, "float32")
        alpha = T.match_buffer(alpha_handle, spec.alpha_shape, "float32")
        residual = T.match_buffer(
            residual_handle, (1, out_channels, n + growth) if spec.residuals > 0 else (1,), "float32"
        )
        other = T.match_buffer(
            other_handle, (1, out_channels, n + growth) if spec.residuals > 1 else (1,), "float32"
        )
        y = T.match_buffer(y_handle, (1, out_channels, n + growth), "float32")
        for job in T.parallel(T.floordiv(n + growth + (span - 1), span) * groups):
            tile = T.alloc_buffer((in_channels, width), "float32", scope="global")
            start: T.let[T.int64] = T.floordiv(job, groups) * span
            first_block: T.let[T.int64] = T.floormod(job, groups) * group_blocks
            for channel in T.serial(in_channels):
                fill_row(tile, channel, x, channel, start - pad, n, affine, alpha)
            for block, half, step in T.grid(group_blocks, halves, span // columns):
                if start + step * columns < n + growth:
                    total = T.alloc_buffer((rows, vectors, lanes), "float32", scope="local")
                    partial = T.alloc_buffer((rows, vectors, lanes), "float32", scope="local")
                    for row in T.unroll(rows):
                        for vector in T.unroll(vectors):
                            for lane in T.vectorized(lanes):
                                total[row, vector, lane] = T.float32(0)
                    for chunk in T.serial(-(-in_channels // chunk_channels)):
                        for row in T.unroll(rows):
                            for vector in T.unroll(vectors):
                                for lane in T.vectorized(lanes):
                                    partial[row, vector, lane] = T.float32(0)
                        for offset in T.serial(T.min(chunk_channels, in_channels - chunk * chunk_channels)):
                            for tap in T.unroll(taps):
                                for row in T.unroll(rows):
                                    for vector in T.unroll(vectors):
                                        for lane in T.vectorized(lanes):
                                            partial[row, vector, lane] = (
                                                partial[row, vector, lane]
                                                + weight[
                                                    first_block + block,
                                                    chunk * chunk_channels + offset,
                                                    tap,
                                                    half * rows + row,
                                                ]
                                                * tile[
                                                    chunk * chunk_channels + offset,
                                                    step * columns + vector * lanes + lane + tap * dilation,
                                                ]
                                            )
                        for row in T.unroll(rows):
                            for vector in T.unroll(vectors):
                                for lane in T.vectorized(lanes):
                                    total[row, vector, lane] = (
                                        total[row, vector, lane] + partial[row, vector, lane]
                                    )
                    channel_0: T.let[T.int64] = (first_block + block) * CHANNEL_BLOCK + half * rows
                    time_0: T.let[T.int64] = start + step * columns
                    if time_0 + columns <= n + growth:
                        for row in T.unroll(rows):
                            for vector in T.unroll(vectors):
                                for lane in T.vectorized(lanes):
                                    y[0, channel_0 + row, time_0 + vector * lanes + lane] = finish(
                                        spec, total[row, vector, lane], bias, residual, other,
                                        channel_0 + row, time_0 + vector * lanes + lane,
                                    )  # fmt: skip
                    else:
                        for row in T.unroll(rows):
                            for vector in T.unroll(vectors):
                                for lane in T.serial(lanes):
                                    if time_0 + vector * lanes + lane < n + growth:
                                        y[0, channel_0 + row, time_0 + vector * lanes + lane] = finish(
                                            spec, total[row, vector, lane], bias, residual, other,
                                            channel_0 + row, time_0 + vector * lanes + lane,
                                        )  # fmt: skip

    return conv1d
