"""Precisions of stored weights; every kernel computes in float32, whatever the type of its weights.

The large weights are stored in the bundle's precision: those of convolutions, linear layers and LSTMs.
Biases, norms, embeddings and the harmonic source stay float32. The stages mark their large parameters
(`stages.layers`). `round_as_stored` rounds the same weights in kokoro's own modules, so that a reference
computes with the numbers that a bundle has. Nothing here imports TVM.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import remove_weight_norm

from exporter.compiler.toom_cook_convolution import ToomCookConv1d, ToomCookConvTranspose1d
from exporter.errors import ExportError

PRECISIONS = ("float32", "float16")


class PrecisionError(ExportError):
    """A weight is too large for the precision, or a device cannot read weights of it."""

    exit_code = 3


def check_device(precision: str, device: str) -> None:
    """Raises PrecisionError if the kernels of a device cannot read weights of a precision."""
    if device == "cuda" and precision != "float32":
        raise PrecisionError(
            f"Kernels for CUDA read float32 weights only, because NVRTC brings no header for {precision}. "
            "Export with --precision float32."
        )


def rounded(value: Tensor, precision: str, name: str) -> Tensor:
    """Returns a large weight in the type in which a precision stores it.

    Raises:
        PrecisionError: a number is too large for the type.
    """
    dtype: torch.dtype = getattr(torch, precision)
    stored = value.to(dtype)
    if not value.is_meta and not torch.isfinite(stored).all():
        raise PrecisionError(
            f"The weights {name} reach {value.abs().max():g}: {precision} stores at most "
            f"{torch.finfo(dtype).max:g}. Export with --precision float32."
        )
    return stored


def round_as_stored(model: Any, precision: str, source_apart: bool = False) -> None:
    """Replaces the weights of a `kokoro.KModel` by those that a bundle of this precision computes with.

    Most are rounded one by one, and kokoro's modules stay as they are. Where a bundle rounds transformed
    weights, a module that computes with these in float64 takes the place of kokoro's.

    Args:
        model: the model, which is changed.
        precision: one of `PRECISIONS`.
        source_apart: the bundle's decoder is one for a GPU, which transforms no weights.

    Raises:
        PrecisionError: a number is too large for the type.
    """
    if precision == "float32":
        return
    for module in model.modules():
        if hasattr(module, "weight_v"):
            remove_weight_norm(module)
    if not source_apart:
        _replace_transformed(model.decoder.generator, precision)
    for name, module in model.named_modules():
        for weight in _large_weights(name, module):
            value = getattr(module, weight)
            value.data = rounded(value.data, precision, f"{name}.{weight}").to(value.dtype)


def _replace_transformed(generator: Any, precision: str) -> None:
    """Replaces the modules of kokoro's generator whose weights `stages.audio.Generator` transforms."""
    as_stored = partial(rounded, precision=precision, name="of the generator")
    blocks = [*generator.noise_res, *generator.resblocks]
    for convs in (convs for block in blocks for convs in (block.convs1, block.convs2)):
        for index, conv in enumerate(convs):
            convs[index] = ToomCookConv1d(conv, as_stored)
    for index in range(1, len(generator.ups)):
        generator.ups[index] = ToomCookConvTranspose1d(generator.ups[index], as_stored)


def _large_weights(name: str, module: nn.Module) -> list[str]:
    """Returns the names of the weights of one of kokoro's modules that stages store as large ones."""
    if isinstance(module, nn.LSTM):
        return [weight for weight, _ in module.named_parameters() if weight.startswith("weight")]
    # Depthwise convolutions, those of F0 and N, and the merging of harmonics have few numbers.
    if isinstance(module, nn.Conv1d | nn.ConvTranspose1d):
        large = module.groups == 1 and module.in_channels > 1
    else:
        large = isinstance(module, nn.Linear) and not name.endswith("m_source.l_linear")
    return ["weight"] if large else []
