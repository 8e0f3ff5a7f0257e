"""Building blocks of the stages: kokoro's layers with their weights in the kernels' layouts.

In shapes, n is the number of time steps.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from exporter.compiler import operators
from exporter.compiler.kernels import conv1d, lstm, winograd
from exporter.compiler.kernels.int8_weights import quantise
from exporter.compiler.operators import HALF_POWER

ROW_MAJOR = "row-major"
LSTM_LAYOUT = f"lstm[direction,hidden/{lstm.UNITS},hidden,4*{lstm.UNITS}]"


def parameter(
    value: Tensor, layout: str = ROW_MAJOR, *, large: bool = False, dtype: torch.dtype = torch.float32
) -> nn.Parameter:
    """Returns a contiguous copy of `value`, marked with the name of its layout for the manifest.

    A large one is stored in the bundle's precision.
    """
    made = nn.Parameter(value.detach().to(dtype).contiguous().clone(), requires_grad=False)
    made.weight_layout, made.large = layout, large  # type: ignore[attr-defined]
    return made


def packed(
    pack: Callable[..., NDArray[np.float32]], layout: str, *weights: Tensor, large: bool = True
) -> nn.Parameter:
    """Returns weights in a kernel's layout; weights on the device ``meta`` give a parameter there."""
    return parameter(torch.from_numpy(pack(*map(_array, weights))).to(weights[0].device), layout, large=large)


def _padded_bias(weight: Tensor, bias: Tensor | None) -> Tensor:
    """Returns the bias of as many output channels as are whole blocks, zero where there is none."""
    full = weight.new_zeros(conv1d.padded_channels(weight.shape[0]))
    if bias is not None:
        full[: weight.shape[0]] = bias.detach()
    return full


def _array(weight: Tensor) -> NDArray[np.float32]:
    """Returns a weight as an array; zeros for one on the device ``meta``."""
    array: NDArray[np.float32] = (
        torch.zeros_like(weight, device="cpu") if weight.is_meta else weight.detach()
    ).numpy()
    return array


def layout_of(value: nn.Parameter) -> str:
    """Returns the name of a parameter's layout."""
    return str(getattr(value, "weight_layout", ROW_MAJOR))


def is_large(value: nn.Parameter) -> bool:
    """True if a parameter is stored in the bundle's precision."""
    return bool(getattr(value, "large", False))


def effective_weight(module: Any) -> Tensor:
    """Returns the weight of a layer, from direction and magnitude where kokoro uses `weight_norm`."""
    if hasattr(module, "weight_v"):
        weight: Tensor = torch._weight_norm(module.weight_v, module.weight_g, 0)
    else:
        weight = module.weight
    return weight.detach()


class Conv(nn.Module):
    """A convolution of stride 1 with fused activation and residuals; see `kernels.conv1d`."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        padding: int = 0,
        dilation: int = 1,
        *,
        reads_channels_last: bool = False,
        writes_channels_last: bool = False,
    ) -> None:
        """Packs `weight` [out, in, taps]; output channels are rounded up to whole blocks with zeros."""
        super().__init__()
        self.weight = packed(conv1d.pack_weight, conv1d.LAYOUT, weight)
        self.bias = parameter(_padded_bias(weight, bias))
        self.weight_scales: nn.Parameter | None = None
        self.parts = 1
        """The number of weights that lie one after the other in this one."""
        self.padding, self.dilation = padding, dilation
        self.reads_channels_last, self.writes_channels_last = reads_channels_last, writes_channels_last

    @classmethod
    def of(cls, module: nn.Module, **axes: bool) -> "Conv":
        """Returns the same as torch's `Conv1d` (stride 1) or `Linear`."""
        if isinstance(module, nn.Linear):
            return cls(module.weight[:, :, None], module.bias, **axes)
        if not isinstance(module, nn.Conv1d) or module.stride != (1,) or module.groups != 1:
            raise TypeError(f"expected Linear or a dense Conv1d of stride 1, found {module}")
        padding, dilation = int(module.padding[0]), module.dilation[0]
        return cls(effective_weight(module), module.bias, padding, dilation, **axes)

    def store_in_int8(self) -> None:
        """Replaces the weight by one of int8 with its scales."""
        parts = np.split(_array(operators.unpacked(self.weight)), self.parts)
        numbers, scales = conv1d.pack_int8(*map(np.concatenate, zip(*map(quantise, parts), strict=True)))
        place = self.weight.device
        self.weight = parameter(torch.from_numpy(numbers).to(place), conv1d.LAYOUT, dtype=torch.int8)
        self.weight_scales = parameter(
            torch.from_numpy(scales).to(place), conv1d.SCALES_LAYOUT, dtype=torch.float16
        )

    def forward(
        self,
        x: Tensor,
        affine: Tensor | None = None,
        alpha: Tensor | None = None,
        slope: float | None = None,
        gelu: bool = False,
        residual: Tensor | None = None,
        other: Tensor | None = None,
        scale: float = 1.0,
        repeats_residual: bool = False,
    ) -> Tensor:
        """Maps [1, in, n] to [1, out rounded up, n + growth], or both with the channels last."""
        return operators.fused_conv1d(
            x, self.weight, self.bias, self.padding, self.dilation,
            affine, alpha, slope, gelu, residual, other, scale, self.weight_scales,
            reads_channels_last=self.reads_channels_last, writes_channels_last=self.writes_channels_last,
            repeats_residual=repeats_residual,
        )  # fmt: skip


class WinogradConv(nn.Module):
    """A convolution of the generator, whose input has the channels last; see `kernels.winograd`."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor,
        padding: int,
        dilation: int = 1,
        *,
        writes_channels_last: bool = True,
        large: bool = True,
    ) -> None:
        """Transforms and packs `weight` [out, in, taps]; output channels are those of `Conv`."""
        super().__init__()
        self.taps, self.padding, self.dilation = weight.shape[2], padding, dilation
        self.plain, self.large = weight, large
        self.weight = self._transformed()
        self.bias = parameter(_padded_bias(weight, bias))
        self.writes_channels_last = writes_channels_last

    def _transformed(self) -> nn.Parameter:
        return packed(winograd.pack_weight, winograd.layout(self.taps), self.plain.float(), large=self.large)

    def store_taps(self, taps: Tensor) -> None:
        """Replaces the weight by one whose taps are rounded, from which a reader may compute it."""
        self.plain = taps
        self.weight = self._transformed()

    @classmethod
    def of(cls, module: nn.Conv1d, **options: bool) -> "WinogradConv":
        """Returns the same as a `Conv1d` of torch that keeps the length, as residual blocks need."""
        if module.groups != 1 or module.bias is None:
            raise TypeError(f"expected a dense Conv1d of stride 1 with a bias, found {module}")
        padding, dilation = int(module.padding[0]), module.dilation[0]
        if module.stride != (1,) or 2 * padding != dilation * (module.kernel_size[0] - 1):
            raise ValueError(f"expected a convolution that keeps the length, found {module}")
        return cls(effective_weight(module), module.bias, padding, dilation, **options)

    def forward(
        self,
        x: Tensor,
        affine: Tensor | None = None,
        alpha: Tensor | None = None,
        slope: float | None = None,
        residual: Tensor | None = None,
        other: Tensor | None = None,
        scale: float = 1.0,
        in_place: bool = False,
    ) -> Tensor:
        """Maps [1, n, in] to [1, n + growth, out]: AdaIN's affine, activation, convolution, residuals, scale.

        With `in_place` nothing may read the residual afterwards.
        """
        return operators.winograd_conv1d(
            x, self.weight, self.bias, self.taps, self.padding, self.dilation,
            affine, alpha, slope, residual, other, scale, in_place=in_place,
            writes_channels_last=self.writes_channels_last,
        )  # fmt: skip


class AdaIN(nn.Module):
    """The affine map of kokoro's `AdaIN1d` for one input and style.

    With `takes_statistics` the last parameter may hold mean and variance of another input, [2, channels]. The
    variance is -1 in the bundle, which has the statistics taken of the input itself.
    """

    def __init__(self, module: Any, channels_last: bool = False, takes_statistics: bool = False) -> None:
        super().__init__()
        self.channels_last = channels_last
        self.fc_weight, self.fc_bias = parameter(module.fc.weight, large=True), parameter(module.fc.bias)
        self.weight, self.bias = parameter(module.norm.weight), parameter(module.norm.bias)
        self.statistics: nn.Parameter | None = None
        if takes_statistics:
            self.statistics = parameter(torch.stack([self.bias * 0, self.bias * 0 - 1]))
        self.epsilon = float(module.norm.eps)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Maps [1, channels, n], or with the channels last, and [1, style] to [3, channels]."""
        return operators.adain_affine(
            x, style, self.fc_weight, self.fc_bias, self.weight, self.bias, self.epsilon, self.statistics,
            channels_last=self.channels_last,
        )  # fmt: skip


class BidirectionalLstm(nn.Module):
    """A bidirectional `nn.LSTM` over exactly the length of its input."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        weight = torch.cat([module.weight_ih_l0, module.weight_ih_l0_reverse])
        forward = module.bias_ih_l0 + module.bias_hh_l0
        backward = module.bias_ih_l0_reverse + module.bias_hh_l0_reverse
        self.project = Conv(weight[:, :, None], torch.cat([forward, backward]))
        self.project.parts = 2
        recurrent = (module.weight_hh_l0, module.weight_hh_l0_reverse)
        self.recurrent = packed(lstm.pack_recurrent, LSTM_LAYOUT, *recurrent)

    def forward(self, x: Tensor) -> Tensor:
        """Maps [1, in, n] to [1, 2 * hidden, n]."""
        return operators.bidirectional_lstm(self.project(x), self.recurrent)


class ResidualBlock(nn.Module):
    """kokoro's `AdainResBlk1d`."""

    SLOPE = 0.2

    def __init__(self, block: Any, takes_statistics: bool = False) -> None:
        super().__init__()
        self.norm1 = AdaIN(block.norm1, takes_statistics=takes_statistics)
        self.norm2 = AdaIN(block.norm2, takes_statistics=takes_statistics)
        self.conv1, self.conv2 = Conv.of(block.conv1), Conv.of(block.conv2)
        self.shortcut = Conv.of(block.conv1x1) if block.learned_sc else None
        self.upsamples = block.upsample_type != "none"
        if self.upsamples:
            self.pool_weight = parameter(effective_weight(block.pool)[:, 0])
            self.pool_bias = parameter(block.pool.bias)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Maps [1, in, n] to [1, out, n], or 2 * n where the block upsamples."""
        affine = self.norm1(x, style)
        if self.upsamples:
            h = operators.upsample_pool(x, affine, self.pool_weight, self.pool_bias, self.SLOPE)
            h = self.conv1(h)
        else:
            h = self.conv1(x, affine, slope=self.SLOPE)
        # A 1x1 convolution and a repetition in time commute: the shorter signal is convolved.
        residual = x if self.shortcut is None else self.shortcut(x)
        affine = self.norm2(h, style)
        result: Tensor = self.conv2(
            h, affine, slope=self.SLOPE, residual=residual, scale=HALF_POWER, repeats_residual=self.upsamples
        )
        return result
