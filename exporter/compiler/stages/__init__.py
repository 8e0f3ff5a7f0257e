"""The stages as torch modules made of kokoro's weights and the exporter's operators.

kokoro has no type information, so its modules are `Any` here.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from exporter.compiler.kernels import winograd
from exporter.compiler.library import Weight
from exporter.compiler.precision import rounded
from exporter.compiler.stages.audio import F0N, Decoder, HarmonicSource, SpectrumDecoder
from exporter.compiler.stages.layers import Conv, WinogradConv, is_large, layout_of
from exporter.compiler.stages.text import Bert, Duration, TextEncoder

STAGE_MODULES: dict[str, Callable[[Any], nn.Module]] = {
    "bert": Bert,
    "duration": Duration,
    "text_encoder": TextEncoder,
    "f0n": F0N,
    "decoder": Decoder,
}

_SEPARATE_SOURCE: dict[str, Callable[[Any], nn.Module]] = {
    "source": lambda model: HarmonicSource(model.decoder.generator),
    "decoder": SpectrumDecoder,
}

_INT8 = {
    "duration": ("lstms.", "lstm."),
    "text_encoder": ("convs.", "lstm."),
    "f0n": ("shared.", "f0_blocks.", "energy_blocks."),
    "decoder": ("body.encode.", "body.decode."),
}
"""Beginnings of the paths in a stage of the weights that `precision.int8_weights` finds in kokoro."""


def make_stage(
    name: str, model: nn.Module, separate_source: bool = False, precision: str = "float32"
) -> nn.Module:
    """Returns the stage `name` with the weights of `model` (a `kokoro.KModel`).

    Args:
        name: of the stage.
        model: the model.
        separate_source: the harmonic source is a stage of its own, and the decoder is one for a GPU.
        precision: one of `PRECISIONS`, in which the large weights are stored.

    Raises:
        PrecisionError: a weight is too large for the precision.
    """
    modules = STAGE_MODULES | _SEPARATE_SOURCE if separate_source else STAGE_MODULES
    stage = modules[name](model).eval()
    for path, module in stage.named_modules():
        if precision == "int8" and path.startswith(_INT8.get(name, ())) and isinstance(module, Conv):
            # A weight that float16 can hold has scales that it can hold.
            rounded(module.weight.data, precision, path)
            module.store_in_int8()
        if precision != "float32" and isinstance(module, WinogradConv) and module.large:
            module.store_taps(rounded(module.plain, precision, path))
    for name, value in stage.named_parameters():
        if is_large(value):
            value.data = rounded(value.data, precision, name)
    return stage


def stage_weights(module: nn.Module) -> list[Weight]:
    """Returns the parameters of a stage in the order in which its compiled function takes them."""
    plain = dict(_plain_weights(module))
    return [
        Weight(name, value.detach().numpy(), layout_of(value), plain.get(name))
        for name, value in module.named_parameters()
    ]


def _plain_weights(module: nn.Module) -> Iterator[tuple[str, Weight]]:
    """Yields the weights that a reader may transform, by the names of the parameters."""
    for path, each in module.named_modules():
        if isinstance(each, WinogradConv) and each.plain.dtype == torch.float16:
            taps = winograd.pack_taps(each.plain.numpy())
            yield f"{path}.weight", Weight(path, taps, winograd.taps_layout(each.taps))
