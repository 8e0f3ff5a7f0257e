"""Convolutions of the generator as its kernels compute them, for kokoro's own modules.

Where transformed weights are rounded, an output depends on its place in its block of time, which it does not
in a convolution. So a reference needs the blocks too. Nothing here imports TVM.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exporter.compiler.kernels.winograd_schemes import SCHEMES, transform_weight

Round = Callable[[Tensor], Tensor]
_COLUMNS = 256
"""Transforms that are computed together: more leave the caches, fewer are slow matrix products."""


def unchanged(values: Tensor) -> Tensor:
    """Returns what float32 makes of factors and samples."""
    return values


def stored_factors(weight: Tensor, rounded: Round) -> Tensor:
    """Returns a weight [out, in, taps] as kernels take it, [products, out, in]: rounded before and after."""
    taps = rounded(weight.detach().float()).float()
    factors = torch.from_numpy(transform_weight(taps.numpy()).copy())
    return rounded(factors).permute(2, 0, 1).double().contiguous()


def winograd_convolution(
    x: Tensor, factors: Tensor, taps: int, padding: int, dilation: int, rounded: Round = unchanged
) -> Tensor:
    """Returns the convolution of x [1, in, n] by factors [products, out, in], in float64.

    It has `kernels.winograd`'s blocks of time, and n + 2 * padding - dilation * (taps - 1) steps. `rounded`
    is what an arithmetic does to the factors and to the transformed samples.
    """
    scheme = SCHEMES[taps]
    length = x.shape[2] + 2 * padding - dilation * (taps - 1)
    stride, span = scheme.outputs * dilation, scheme.samples * dilation
    blocks = -(-length // stride)
    padded = F.pad(x[0], (padding, (blocks - 1) * stride + span - padding - x.shape[2]))
    windows = padded.unfold(1, span, stride).view(-1, blocks, scheme.samples, dilation)
    spread, gather = (
        torch.from_numpy(matrix)
        for matrix in (scheme.spread @ scheme.analysis, scheme.synthesis @ scheme.gather)
    )
    factors = rounded(factors).double()
    steps = x.new_empty((factors.shape[1], blocks, scheme.outputs, dilation), dtype=torch.float64)
    together = max(1, _COLUMNS // dilation)
    for first in range(0, blocks, together):
        window, step = windows[:, first : first + together], steps[:, first : first + together]
        samples = (spread @ window.permute(2, 0, 1, 3).double().flatten(1)).view(len(spread), len(window), -1)
        products = factors @ rounded(samples).double()
        outputs = (gather @ products.flatten(1)).view(scheme.outputs, *step.shape[:2], dilation)
        step.copy_(outputs.permute(1, 2, 0, 3))
    return steps.flatten(1)[None, :, :length]


def direct_convolution(
    x: Tensor, weight: Tensor, taps: int, padding: int, dilation: int, rounded: Round = unchanged
) -> Tensor:
    """Returns the convolution of x [1, in, n] by a weight [out, in, taps], in float32.

    `rounded` is what an arithmetic does to the weight and to the samples. A product of two bfloat16 is exact
    in float32, and sums lose little beside that rounding; float64 takes PyTorch many times as long.
    """
    assert weight.shape[2] == taps
    return F.conv1d(rounded(x).float(), rounded(weight).float(), None, 1, padding, dilation)


class _Stored:
    """A weight [out, in, taps] as a bundle stores it and kernels multiply by it."""

    def __init__(self, weight: Tensor, rounded: Round, multiplied: Round, direct: bool) -> None:
        self.taps, self.multiplied = weight.shape[2], multiplied
        self.factors = rounded(weight.detach().float()) if direct else stored_factors(weight, rounded)
        self.method = direct_convolution if direct else winograd_convolution

    def convolve(self, x: Tensor, padding: int, dilation: int) -> Tensor:
        """Maps [1, in, n] to [1, out, n + 2 * padding - dilation * (taps - 1)]."""
        return self.method(x, self.factors, self.taps, padding, dilation, self.multiplied)


class StoredConv1d(nn.Module):
    """kokoro's `Conv1d` with a bias and without a stride, as the generator's kernels compute it."""

    def __init__(
        self, conv: nn.Conv1d, rounded: Round, multiplied: Round = unchanged, direct: bool = False
    ) -> None:
        """Takes the module, the rounding of stored weights, and what an arithmetic does before it multiplies.

        With `direct` it multiplies samples and taps as they are, and not transformed.
        """
        super().__init__()
        self.padding, self.dilation = int(conv.padding[0]), conv.dilation[0]
        assert conv.bias is not None
        self.stored, self.bias = _Stored(conv.weight, rounded, multiplied, direct), conv.bias

    def forward(self, x: Tensor) -> Tensor:
        """Maps [1, in, n] to [1, out, n + growth]."""
        return (self.stored.convolve(x, self.padding, self.dilation) + self.bias[:, None]).to(x.dtype)


class StoredConvTranspose1d(nn.Module):
    """kokoro's `ConvTranspose1d` whose kernel is twice its stride, computed likewise."""

    def __init__(
        self, conv: nn.ConvTranspose1d, rounded: Round, multiplied: Round = unchanged, direct: bool = False
    ) -> None:
        """Takes what `StoredConv1d` takes."""
        super().__init__()
        assert conv.bias is not None
        self.stride, self.padding, self.bias = conv.stride[0], int(conv.padding[0]), conv.bias
        self.stored = _Stored(phases_of(conv.weight, self.stride), rounded, multiplied, direct)

    def forward(self, x: Tensor) -> Tensor:
        """Maps [1, in, n] to [1, out, stride * n]."""
        phases = self.stored.convolve(x, 1, 1)
        signal = phases.reshape(self.stride, -1, x.shape[2] + 1).permute(1, 2, 0).flatten(1)
        y = signal[None, :, self.padding : self.padding + self.stride * x.shape[2]] + self.bias[:, None]
        return y.to(x.dtype)


def phases_of(weight: Tensor, stride: int) -> Tensor:
    """Returns a transposed convolution's weight [in, out, 2 * stride] as one of two taps to all phases.

    Tap 0 of the dense convolution [stride * out, in, 2] reads the sample before, tap 1 the sample itself.
    """
    taps_first = weight.permute(2, 1, 0)  # taps, out, in
    return torch.stack([taps_first[stride:], taps_first[:stride]], dim=-1).flatten(0, 1)
