"""Precisions of stored weights; every kernel computes in float32, whatever the type of its weights.

The large weights are stored in the bundle's precision: those of convolutions, linear layers and LSTMs.
Biases, norms, embeddings, the harmonic source and, for a CPU, the generator's last convolution stay float32.
The stages mark their large parameters (`stages.layers`). Of these, int8 is only for the ones that tolerate it
(`int8_weights`), and the others are float16.
`round_as_stored` rounds the same weights in kokoro's own modules, so that a reference computes with the
numbers that a bundle has. Nothing here imports TVM.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from exporter.compiler.kernels.int8_weights import expand, quantise
from exporter.compiler.kokoro_model import make_weights_plain
from exporter.compiler.library import StoredWeights
from exporter.compiler.targets import FLOAT32
from exporter.compiler.winograd_reference import (
    Round,
    StoredConv1d,
    StoredConvTranspose1d,
    unchanged,
)
from exporter.errors import ExportError

PRECISIONS = ("float32", "float16", "int8")
_TYPES = {"float32": torch.float32, "float16": torch.float16, "int8": torch.float16}
"""Types of the large weights that are not int8."""
_ARITHMETIC: dict[str, Round] = {
    FLOAT32: unchanged,
    "bfloat16": lambda values: values.to(torch.bfloat16),
}
"""By arithmetic, what it makes of factors and samples before it multiplies them."""


class PrecisionError(ExportError):
    """A weight is too large for the precision, or a device cannot read weights of it."""

    exit_code = 3


def check_device(precision: str, device: str) -> None:
    """Raises PrecisionError if the kernels of a device cannot read weights of a precision."""
    if device == "cuda" and precision != "float32":
        raise PrecisionError(
            f"Kernels for CUDA read float32 weights only, found {precision}: NVRTC brings no header for "
            "float16. Export with --precision float32."
        )
    if device == "metal" and precision == "int8":
        raise PrecisionError(
            "Kernels for Metal read float32 and float16 weights, found int8. Export with --precision float16."
        )


def rounded(value: Tensor, precision: str, name: str) -> Tensor:
    """Returns a large weight in the type in which a precision stores it.

    Raises:
        PrecisionError: a number is too large for the type.
    """
    dtype = _TYPES[precision]
    stored = value.to(dtype)
    if not value.is_meta and not torch.isfinite(stored).all():
        raise PrecisionError(
            f"The weights {name} reach {value.abs().max():g}: {str(dtype)[6:]} stores at most "
            f"{torch.finfo(dtype).max:g}. Export with --precision float32."
        )
    return stored


def round_as_stored(model: Any, stored: StoredWeights) -> None:
    """Replaces the weights of a `kokoro.KModel` by those of a bundle.

    Most are rounded one by one, and kokoro's modules stay as they are. Where a bundle rounds transformed
    weights, a module that computes with these in float64 takes the place of kokoro's; so it does where the
    arithmetic rounds them and the transformed samples.

    Args:
        model: the model, which is changed.
        stored: how the bundle stores the weights and multiplies by them.

    Raises:
        PrecisionError: a number is too large for the type.
    """
    if stored.original:
        return
    precision = stored.precision
    make_weights_plain(model)
    if not stored.separate_source:
        _replace_transformed(model.decoder.generator, stored)
    small = int8_weights(model) if precision == "int8" else {}
    # The generator's last convolution has few weights, and the decoder for a CPU keeps their transform exact.
    exact = None if stored.separate_source else model.decoder.generator.conv_post
    for name, module in model.named_modules():
        if module is exact:
            continue
        for weight in _large_weights(name, module):
            value = getattr(module, weight)
            kept = rounded(value.data, precision, f"{name}.{weight}").to(value.dtype)
            if weight in small.get(module, ()):
                # A weight of an LSTM has no taps.
                taps = value.detach().reshape(*value.shape[:2], -1)
                kept = torch.from_numpy(expand(*quantise(taps.numpy()))).view_as(value)
            value.data = kept


def int8_weights(model: Any) -> dict[nn.Module, list[str]]:
    """Returns kokoro's weights that are stored in int8 where that is the precision, by module.

    They are those of the dense convolutions before the generator, and those that LSTMs multiply their inputs
    by. bert's would move too many durations, and the generator's are transformed.
    """
    predictor, decoder = model.predictor, model.decoder
    parts = [model.text_encoder, predictor.text_encoder, predictor.lstm, decoder.encode, decoder.decode]
    parts += [predictor.shared, predictor.F0, predictor.N]
    found: dict[nn.Module, list[str]] = {}
    for module in (module for part in parts for module in part.modules()):
        if isinstance(module, nn.LSTM):
            found[module] = [name for name in _large_weights("", module) if name.startswith("weight_ih")]
        elif isinstance(module, nn.Conv1d) and _large_weights("", module):
            found[module] = ["weight"]
    return found


def _replace_transformed(generator: Any, stored: StoredWeights) -> None:
    """Replaces the modules of kokoro's generator whose weights `stages.audio.Generator` transforms."""
    as_stored = partial(rounded, precision=stored.precision, name="of the generator")
    multiplied = _ARITHMETIC[stored.arithmetic]
    blocks = [*generator.noise_res, *generator.resblocks]
    for convs in (convs for block in blocks for convs in (block.convs1, block.convs2)):
        for index, conv in enumerate(convs):
            convs[index] = StoredConv1d(conv, as_stored, multiplied, stored.direct)
    for index in range(1, len(generator.ups)):
        up = generator.ups[index]
        generator.ups[index] = StoredConvTranspose1d(up, as_stored, multiplied, stored.direct)


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
