"""The kernels as torch operators, of which the exporter's stage modules are made.

Each operator has a plain torch implementation, so that a stage can be run and compared with kokoro's own
module before anything is compiled, and a shape rule for torch.export. `converters` maps them to TIR kernels;
their names differ from torch's own operators', because TVM's importer knows an operator by its name alone.
Weights are in the kernels' layouts. Activations are [1, channels, time], float32, or [1, time, channels]
where an operator says that channels are last.
"""

import math
from collections.abc import Callable
from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from exporter.compiler.kernels.harmonic_source import SAMPLES_PER_F0
from exporter.compiler.kernels.int8_weights import summed_together
from exporter.compiler.kernels.lstm import UNITS
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK
from exporter.compiler.kernels.winograd import BLOCK
from exporter.compiler.winograd_reference import winograd_convolution
from runtime_min.format.signatures import SAMPLE_RATE, SPECTRUM_CHANNELS

NAMESPACE = "kokoro_export"


def _operator(
    shape: Callable[..., tuple[Any, ...]],
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Registers a function as the operator of its name; `shape` returns its output's shape, without data."""

    def register(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
        operator = torch.library.custom_op(f"{NAMESPACE}::{compute.__name__}", compute, mutates_args=())

        def without_data(first: Tensor, *arguments: Any, **options: Any) -> Tensor:
            return first.new_empty(shape(first, *arguments, **options), dtype=torch.float32)

        operator.register_fake(without_data)
        return operator

    return register


def unpacked(weight: Tensor, scales: Tensor | None = None) -> Tensor:
    """Returns a weight [out/32, in, taps, 32], times the scales [out/32, groups, 32], as [out, in, taps]."""
    weight = weight.float()
    if scales is not None:
        each = scales.float().repeat_interleave(summed_together(weight.shape[2]), dim=1)
        weight = weight * each[:, : weight.shape[1], None]
    return weight.permute(0, 3, 1, 2).flatten(0, 1)


def _activate(x: Tensor, affine: Tensor | None, alpha: Tensor | None, slope: float | None) -> Tensor:
    if affine is not None:
        mean, scale, shift = affine[:, :, None]
        x = (x - mean) * scale + shift
    if alpha is not None:
        return x + alpha[1, :, None] * torch.sin(alpha[0, :, None] * x) ** 2
    return x if slope is None else F.leaky_relu(x, slope)


def _convolved(
    x: Tensor, weight: Tensor, bias: Tensor, padding: int, dilation: int, *_: Any,
    reads_channels_last: bool = False, writes_channels_last: bool = False, **__: Any,
) -> tuple[int, ...]:  # fmt: skip
    length = x.shape[1 if reads_channels_last else 2] + 2 * padding - dilation * (weight.shape[2] - 1)
    channels = weight.shape[0] * CHANNEL_BLOCK
    return (1, length, channels) if writes_channels_last else (1, channels, length)


@_operator(_convolved)
def fused_conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    padding: int,
    dilation: int,
    affine: Optional[Tensor] = None,  # noqa: UP045  torch reads the schema from these annotations
    alpha: Optional[Tensor] = None,  # noqa: UP045
    slope: Optional[float] = None,  # noqa: UP045
    gelu: bool = False,
    residual: Optional[Tensor] = None,  # noqa: UP045
    other: Optional[Tensor] = None,  # noqa: UP045
    scale: float = 1.0,
    scales: Optional[Tensor] = None,  # noqa: UP045
    *,
    reads_channels_last: bool = False,
    writes_channels_last: bool = False,
    repeats_residual: bool = False,
) -> Tensor:
    """See `kernels.conv1d.Convolution`; `scales` are those of a weight of int8."""
    if repeats_residual and residual is not None:
        residual = residual.repeat_interleave(2, dim=1 if writes_channels_last else 2)
    if reads_channels_last:
        x = x.transpose(1, 2)
    y = F.conv1d(_activate(x, affine, alpha, slope), unpacked(weight, scales), bias, 1, padding, dilation)
    if gelu:
        y = F.gelu(y, approximate="tanh")
    if writes_channels_last:
        y = y.transpose(1, 2).contiguous()
    for addend in (residual, other):
        y = y if addend is None else y + addend
    return y * scale


def _winograd_shape(
    x: Tensor, weight: Tensor, bias: Tensor, taps: int, padding: int, dilation: int, *_: Any,
    writes_channels_last: bool = True, **__: Any,
) -> tuple[Any, ...]:  # fmt: skip
    steps, channels = x.shape[1] + 2 * padding - dilation * (taps - 1), weight.shape[0] * BLOCK
    return (1, steps, channels) if writes_channels_last else (1, channels, steps)


@_operator(_winograd_shape)
def winograd_conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    taps: int,
    padding: int,
    dilation: int,
    affine: Optional[Tensor] = None,  # noqa: UP045
    alpha: Optional[Tensor] = None,  # noqa: UP045
    slope: Optional[float] = None,  # noqa: UP045
    residual: Optional[Tensor] = None,  # noqa: UP045
    other: Optional[Tensor] = None,  # noqa: UP045
    scale: float = 1.0,
    *,
    in_place: bool = False,
    writes_channels_last: bool = True,
) -> Tensor:
    """See `kernels.winograd.convolution`; x has the channels last. `in_place` is for the kernel alone."""
    factors = weight.permute(1, 0, 3, 2).flatten(1, 2)
    activated = _activate(x.transpose(1, 2), affine, alpha, slope)
    y = winograd_convolution(activated, factors, taps, padding, dilation).float() + bias[:, None]
    if writes_channels_last:
        y = y.mT.contiguous()
    for addend in (residual, other):
        y = y if addend is None else y + addend
    return y * scale


@_operator(lambda x, style, fc_weight, fc_bias, weight, *_, **__: (3, weight.shape[0]))
def adain_affine(
    x: Tensor,
    style: Tensor,
    fc_weight: Tensor,
    fc_bias: Tensor,
    weight: Tensor,
    bias: Tensor,
    epsilon: float,
    given: Optional[Tensor] = None,  # noqa: UP045
    *,
    channels_last: bool = False,
) -> Tensor:
    """See `kernels.adain`."""
    gamma, beta = F.linear(style, fc_weight.float(), fc_bias)[0].chunk(2)
    variance, mean = torch.var_mean(x[0], dim=0 if channels_last else 1, correction=0)
    if given is not None:
        own = given[1] < 0
        mean, variance = torch.where(own, mean, given[0]), torch.where(own, variance, given[1])
    scale = (1 + gamma) * weight * torch.rsqrt(variance + epsilon)
    return torch.stack([mean, scale, (1 + gamma) * bias + beta])


@_operator(lambda phases, addend, *_: addend.shape)
def interleave(phases: Tensor, addend: Tensor, stride: int, padding: int, reflect: bool) -> Tensor:
    """See `kernels.phases.interleave`; channels are last."""
    signal = phases.reshape(1, -1, addend.shape[2])
    signal = signal[:, padding : padding + (phases.shape[1] - 1) * stride]
    return torch.cat([signal[:, 1:2], signal], dim=1) + addend if reflect else signal + addend


@_operator(lambda x, stride, padding: (1, x.shape[1] * stride, (x.shape[2] - 1) // stride + 1))
def fold(x: Tensor, stride: int, padding: int) -> Tensor:
    """See `kernels.phases.fold`."""
    columns = x.shape[2] // stride + 1
    padded = F.pad(x, (padding, columns * stride - padding - x.shape[2]))
    return padded.reshape(1, x.shape[1], columns, stride).permute(0, 3, 1, 2).flatten(1, 2)


@_operator(lambda x, *_: (1, x.shape[1], x.shape[2] * 2))
def upsample_pool(x: Tensor, affine: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
    """See `kernels.phases.upsample_pool`."""
    return F.conv_transpose1d(
        _activate(x, affine, None, slope), weight[:, None], bias, 2, 1, 1, groups=weight.shape[0]
    )


@_operator(lambda x, *_: (1, 1, x.shape[1] // 2))
def halve(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """See `kernels.phases.halve`; x is [1, 2 * n]."""
    return F.conv1d(x[:, None], weight[None, None], bias, 2, 1)


@_operator(lambda token_ids, table, *_: (1, table.shape[1], token_ids.shape[1]))
def token_embedding(token_ids: Tensor, table: Tensor, positions: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
    """See `kernels.embedding.embedding`."""
    rows = table[token_ids]
    if positions is not None:
        rows = rows + positions[: token_ids.shape[1]]
    return rows.transpose(1, 2).contiguous()


@_operator(lambda gates, _: (1, gates.shape[1] // 4, gates.shape[2]))
def bidirectional_lstm(gates: Tensor, recurrent: Tensor) -> Tensor:
    """See `kernels.lstm.bidirectional_lstm`."""
    hidden = recurrent.shape[2]
    blocks = recurrent.float().reshape(2, hidden // UNITS, hidden, 4, UNITS)
    weights = blocks.permute(0, 3, 1, 4, 2).reshape(2, 4 * hidden, hidden)
    directions = []
    for direction, weight in enumerate(weights):
        steps = gates[0, direction * 4 * hidden : (direction + 1) * 4 * hidden].T
        steps = steps.flip(0) if direction else steps
        state = cell = gates.new_zeros(hidden)
        states = []
        for step in steps:
            enter, forget, new, leave = (step + weight @ state).chunk(4)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
            state = torch.sigmoid(leave) * torch.tanh(cell)
            states.append(state)
        directions.append(torch.stack(states[::-1] if direction else states, dim=1))
    return torch.cat(directions)[None]


@_operator(lambda projections, _: (1, projections.shape[1] // 3, projections.shape[2]))
def self_attention(projections: Tensor, heads: int) -> Tensor:
    """See `kernels.attention.self_attention`; `projections` holds query, key and value in this order."""
    query, key, value = projections.reshape(3, heads, -1, projections.shape[2]).transpose(2, 3)
    context = F.scaled_dot_product_attention(query, key, value)
    return context.transpose(1, 2).reshape(1, -1, projections.shape[2])


@_operator(lambda x, *_: x.shape)
def channel_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    epsilon: float,
    slope: Optional[float] = None,  # noqa: UP045
) -> Tensor:
    """See `kernels.layer_norm.layer_norm`."""
    y = F.layer_norm(x.transpose(1, 2), weight.shape, weight, bias, epsilon).transpose(1, 2)
    return (y if slope is None else F.leaky_relu(y, slope)).contiguous()


@_operator(lambda x, *_: x.shape)
def adaptive_channel_norm(x: Tensor, style: Tensor, epsilon: float) -> Tensor:
    """See `kernels.layer_norm.adaptive_layer_norm`; style is [1, 2 * channels]."""
    gamma, beta = style[:, :, None].chunk(2, dim=1)
    y = F.layer_norm(x.transpose(1, 2), (x.shape[1],), eps=epsilon).transpose(1, 2)
    return (1 + gamma) * y + beta


@_operator(lambda f0, *_: (1, SPECTRUM_CHANNELS, f0.shape[1] * 60 + 1))
def harmonic_source(f0: Tensor, weight: Tensor, bias: Tensor, noise: Tensor) -> Tensor:
    """Spectrum of the harmonic source; the steps of `kernels.harmonic_source`, which round the same way."""
    wave = torch.arange(1, weight.shape[0] + 1, dtype=torch.float32)
    turns = (f0[0, :, None] * wave / SAMPLE_RATE) % 1
    phase = torch.cumsum(turns, dim=0) * 2 * torch.pi * SAMPLES_PER_F0
    phase = F.interpolate(phase.T[None], scale_factor=SAMPLES_PER_F0, mode="linear")[0]
    voiced = (f0[0] > 10).float().repeat_interleave(SAMPLES_PER_F0)
    amplitude = voiced * 0.003 + (1 - voiced) * 0.1 / 3
    sines = torch.sin(phase) * 0.1 * voiced
    merged = torch.tanh(weight @ sines + bias + amplitude * weight.norm() * noise[0])
    spectrum = torch.stft(
        merged, 20, 5, 20, torch.hann_window(20), return_complex=True, center=True, pad_mode="reflect"
    )
    return torch.cat([spectrum.abs(), spectrum.angle()])[None]


@_operator(lambda x: (1, (x.shape[2] - 1) * 5))
def inverse_stft(x: Tensor) -> Tensor:
    """See `kernels.spectrum`; x is [1, 22 or more, 120 * frames + 1]."""
    spectrum = torch.exp(x[:, :11]) * torch.exp(1j * torch.sin(x[:, 11:22]))
    return torch.istft(spectrum, 20, 5, 20, torch.hann_window(20))


HALF_POWER = 1 / math.sqrt(2.0)
"""torch.rsqrt(2), the scale of `AdainResBlk1d`'s sum."""
