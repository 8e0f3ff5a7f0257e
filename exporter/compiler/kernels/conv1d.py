"""Direct one-dimensional convolution: activation on the way in; bias, residuals and scale on the way out.

A tensor is read once and written once for each convolution. A job takes a tile of time and a group of
output channels: it activates the input tile into a buffer (zero outside the signal, *after* the activation,
as a convolution's padding is), then runs register tiles of channels x time over it. Linear layers are
convolutions with one tap.

Input and output are channels first, [1, channels, time], or channels last, [1, time, channels], as `winograd`
reads and writes them.
"""

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK, Sizes, Tiles

InputActivation = Literal["none", "leaky_relu", "adain_leaky_relu", "adain_snake"]
OutputActivation = Literal["none", "gelu"]
Width = Literal["narrow", "medium", "wide"]
LAYOUT = f"conv[out/{CHANNEL_BLOCK},in,taps,{CHANNEL_BLOCK}]"
NARROW = 8
"""Time steps of the register tile for the end of a short input, which wider ones would leave empty."""
COPY = 16
"""The activated input is written by vectors of this many steps on every level."""
# Wide layers run at few time steps: short jobs and many groups of channels keep all cores busy there.
_SPANS: dict[Width, int] = {"narrow": 256, "medium": 128, "wide": 64}
"""Time steps of a job, where none were measured."""
_GROUPS: dict[Width, int] = {"narrow": 1, "medium": 2, "wide": 8}
"""Groups that the output channels are split into, where they can be."""


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
        reads_channels_last: the input's axes are time, channels.
        writes_channels_last: so are those of the output and of what is added to it.
        in_place: the output takes the place of the first residual, which is no argument of its own then.
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
    reads_channels_last: bool = False
    writes_channels_last: bool = False
    in_place: bool = False

    @property
    def growth(self) -> int:
        """Output length less input length."""
        return 2 * self.padding - self.dilation * (self.taps - 1)

    @property
    def affine_shape(self) -> tuple[int, ...]:
        """Shape of the argument `affine`; one number where there is no AdaIN."""
        return (3, self.in_channels) if self.activation.startswith("adain") else (1,)

    @property
    def alpha_shape(self) -> tuple[int, ...]:
        """Shape of the argument `alpha`; one number where there is no Snake."""
        return (2, self.in_channels) if self.activation == "adain_snake" else (1,)

    def input_shape(self, length: Any) -> tuple[Any, ...]:
        """Shape of the input of `length` time steps."""
        return (1, length, self.in_channels) if self.reads_channels_last else (1, self.in_channels, length)

    def output_shape(self, length: Any) -> tuple[Any, ...]:
        """Shape of the output of `length` time steps, and of each residual."""
        return (1, length, self.out_channels) if self.writes_channels_last else (1, self.out_channels, length)

    @property
    def width(self) -> Width:
        """How many output channels there are."""
        return "wide" if self.out_channels >= 512 else "medium" if self.out_channels >= 256 else "narrow"


def table_row(spec: Convolution) -> str:
    """Where the table of sizes has this kernel."""
    return f"conv1d_{spec.width}"


def sizes(spec: Convolution, tiles: Tiles) -> Sizes:
    """Time steps of a job."""
    return tiles.sizes(table_row(spec), span=_SPANS[spec.width])


def sample(buffer: Any, channel: Any, time: Any, channels_last: bool) -> Any:
    """One element of an activation in either order of axes."""
    return buffer[0, time, channel] if channels_last else buffer[0, channel, time]


def activate(spec: Convolution, x: Any, affine: Any, alpha: Any, channel: Any) -> Any:
    """The input activation of one sample as a TIR expression."""
    return bend(spec, normalise(spec, x, affine, channel), alpha, channel)


def normalise(spec: Convolution, x: Any, affine: Any, channel: Any) -> Any:
    """The linear part of the input activation: AdaIN's affine map, where there is one."""
    if not spec.activation.startswith("adain"):
        return x
    return (x - affine[0, channel]) * affine[1, channel] + affine[2, channel]


def bend(spec: Convolution, x: Any, alpha: Any, channel: Any, functions: ModuleType = vector_math) -> Any:
    """The rest of the input activation, with the elementary functions given."""
    if spec.activation == "none":
        return x
    if spec.activation == "adain_snake":
        return functions.snake(x, alpha[0, channel], alpha[1, channel])
    return functions.leaky_relu(x, spec.slope)


def finish(
    spec: Convolution, total: Any, bias: Any, residual: Any, other: Any, channel: Any, time: Any,
    functions: ModuleType = vector_math,
) -> Any:  # fmt: skip
    """Bias, output activation, residuals and scale of one sample as a TIR expression."""
    total = total + bias[channel]
    if spec.output_activation == "gelu":
        total = functions.gelu_new(total)
    for addend in (residual, other)[: spec.residuals]:
        total = total + sample(addend, channel, time, spec.writes_channels_last)
    return total if spec.scale == 1.0 else total * T.float32(spec.scale)


def _activated_tile(spec: Convolution, width: int) -> Any:
    """A TIR macro that writes `width` activated samples of all channels; zero outside the signal."""
    last, in_channels, chunks = spec.reads_channels_last, spec.in_channels, width // COPY

    def order(outer: Any, inner: Any) -> tuple[Any, Any]:
        return (inner, outer) if last else (outer, inner)

    @T.inline
    def fill(tile: Any, x: Any, first: Any, n: Any, affine: Any, alpha: Any) -> None:
        # In the order in which the input lies in memory.
        for outer, inner in T.grid(chunks if last else in_channels, in_channels if last else chunks):
            channel: T.let[T.int32] = order(outer, inner)[0]
            chunk: T.let[T.int32] = order(outer, inner)[1]
            time: T.let[T.int64] = first + chunk * COPY
            if time >= 0 and time + COPY <= n:
                for lane in T.vectorized(COPY):
                    tile[channel, chunk * COPY + lane] = activate(
                        spec, sample(x, channel, time + lane, last), affine, alpha, channel
                    )
            else:
                for lane in T.vectorized(COPY):
                    tile[channel, chunk * COPY + lane] = T.float32(0)
                if time < n and time + COPY > 0:
                    before: T.let[T.int64] = T.max(-time, T.int64(0))
                    after: T.let[T.int64] = T.min(n - time, T.int64(COPY))
                    for lane in T.serial(after - before):
                        tile[channel, chunk * COPY + before + lane] = sample(
                            x, channel, time + before + lane, last
                        )
                    for lane in T.vectorized(COPY):
                        tile[channel, chunk * COPY + lane] = activate(
                            spec, tile[channel, chunk * COPY + lane], affine, alpha, channel
                        )
                    for lane in T.serial(before):
                        tile[channel, chunk * COPY + lane] = T.float32(0)
                    for lane in T.serial(COPY - after):
                        tile[channel, chunk * COPY + after + lane] = T.float32(0)

    return fill


def _summed_together(taps: int) -> int:
    """Input channels summed in one go, before the sum is added to the total: about 64 products.

    A sum of n products in one register loses about sqrt(n/2) units of rounding, and there are up to 3270.
    With 64, F0 and N are half as far from float64 as PyTorch's; shorter sums gain nothing more.
    """
    return 1 << int(math.log2(64 / taps))


def _register_tile(spec: Convolution, rows: int, vectors: int, lanes: int) -> Any:
    """A TIR macro that computes `rows` output channels at `vectors` * `lanes` time steps."""
    taps, dilation, in_channels = spec.taps, spec.dilation, spec.in_channels
    last = spec.writes_channels_last
    chunk_channels = _summed_together(taps)

    @T.inline
    def compute(
        weight: Any, block: Any, first_row: Any, tile: Any, column: Any, start: Any, length: Any,
        bias: Any, residual: Any, other: Any, y: Any,
    ) -> None:  # fmt: skip
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
                                    + weight[block, chunk * chunk_channels + offset, tap, first_row + row]
                                    * tile[
                                        chunk * chunk_channels + offset,
                                        column + vector * lanes + lane + tap * dilation,
                                    ]
                                )
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.vectorized(lanes):
                        total[row, vector, lane] = total[row, vector, lane] + partial[row, vector, lane]
        channel: T.let[T.int64] = block * CHANNEL_BLOCK + first_row
        time: T.let[T.int64] = start + column
        if time + vectors * lanes <= length:
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.vectorized(lanes):
                        T.buffer_store(
                            y,
                            finish(
                                spec, total[row, vector, lane], bias, residual, other,
                                channel + row, time + vector * lanes + lane,
                            ),
                            place(channel + row, time + vector * lanes + lane, last),
                        )  # fmt: skip
        else:
            for row in T.unroll(rows):
                for vector in T.unroll(vectors):
                    for lane in T.serial(lanes):
                        if time + vector * lanes + lane < length:
                            T.buffer_store(
                                y,
                                finish(
                                    spec, total[row, vector, lane], bias, residual, other,
                                    channel + row, time + vector * lanes + lane,
                                ),
                                place(channel + row, time + vector * lanes + lane, last),
                            )  # fmt: skip

    return compute


def place(channel: Any, time: Any, channels_last: bool) -> list[Any]:
    """Indices of a sample in either order of axes."""
    return [0, time, channel] if channels_last else [0, channel, time]


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """The kernel of `spec`.

    Buffers, float32: x [1, in, n]; weight [out/8, in, taps, 8]; bias [out]; affine [3, in] (mean, scale,
    shift) with AdaIN, else [1]; alpha [2, in] (alpha, 1/alpha) with Snake, else [1]; residual and other
    [1, out, n + growth] where used, else [1]; the output [1, out, n + growth]. Where `spec` says channels
    last, the last two axes change places.
    """
    out_channels, in_channels, taps = spec.out_channels, spec.in_channels, spec.taps
    growth = spec.growth
    span, groups = sizes(spec, tiles)["span"], math.gcd(out_channels // CHANNEL_BLOCK, _GROUPS[spec.width])
    rows, columns, narrow = tiles.channels, tiles.columns, NARROW
    one = max(tiles.lanes, narrow)
    halves = CHANNEL_BLOCK // rows
    group_blocks = out_channels // CHANNEL_BLOCK // groups
    width = -(-(span + spec.dilation * (taps - 1)) // COPY) * COPY
    fill = _activated_tile(spec, width)
    whole_tile = _register_tile(spec, rows, tiles.vectors, tiles.lanes)
    one_vector = _register_tile(spec, rows, 1, tiles.lanes)
    narrow_tile = _register_tile(spec, rows, 1, narrow)

    @T.prim_func(private=True, s_tir=True)
    def conv1d(
        x_handle: T.handle, weight_handle: T.handle, bias_handle: T.handle, affine_handle: T.handle,
        alpha_handle: T.handle, residual_handle: T.handle, other_handle: T.handle, y_handle: T.handle,
    ) -> None:  # fmt: skip
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        x = T.match_buffer(x_handle, spec.input_shape(n), "float32")
        weight = T.match_buffer(
            weight_handle, (out_channels // CHANNEL_BLOCK, in_channels, taps, CHANNEL_BLOCK), "float32"
        )
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
        # In memory, because TVM's simplifier takes forever over nested quotients.
        spans = T.alloc_buffer((1,), "int64", scope="global")
        spans[0] = T.floordiv(n + growth + (span - 1), span)
        # Time goes round fastest: the last span is short, and every core shall have its part of it.
        for job in T.parallel(spans[0] * groups):
            tile = T.alloc_buffer((in_channels, width), "float32", scope="global")
            start: T.let[T.int64] = T.floormod(job, spans[0]) * span
            first_block: T.let[T.int64] = T.floordiv(job, spans[0]) * group_blocks
            fill(tile, x, start - spec.padding, n, affine, alpha)
            for block, half, step in T.grid(group_blocks, halves, span // columns):
                left: T.let[T.int64] = n + growth - start - step * columns
                if left > columns - narrow:
                    # The job's last tile overlaps the one before rather than going beyond the end.
                    back: T.let[T.int64] = T.if_then_else(step > 0, T.max(columns - left, T.int64(0)), 0)
                    whole_tile(
                        weight, first_block + block, half * rows, tile, step * columns - back, start,
                        n + growth, bias, residual, other, y,
                    )  # fmt: skip
                elif left > 0:
                    if one > narrow and left > narrow:
                        one_vector(
                            weight, first_block + block, half * rows, tile, step * columns, start, n + growth,
                            bias, residual, other, y,
                        )  # fmt: skip
                    if left <= narrow or left > one:
                        narrow_tile(
                            weight, first_block + block, half * rows, tile,
                            step * columns + T.if_then_else(left > one, one, 0), start,
                            n + growth, bias, residual, other, y,
                        )  # fmt: skip

    return conv1d
