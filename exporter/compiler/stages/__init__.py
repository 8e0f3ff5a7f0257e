"""The stages as torch modules made of kokoro's weights and the exporter's operators.

kokoro has no type information, so its modules are `Any` here.
"""

from collections.abc import Callable
from typing import Any

from torch import nn

from exporter.compiler.library import Weight
from exporter.compiler.precision import rounded
from exporter.compiler.stages.audio import F0N, Decoder, HarmonicSource, SpectrumDecoder
from exporter.compiler.stages.layers import Conv, is_large, layout_of
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
    for name, value in stage.named_parameters():
        if is_large(value):
            value.data = rounded(value.data, precision, name)
    return stage


def stage_weights(module: nn.Module) -> list[Weight]:
    """Returns the parameters of a stage in the order in which its compiled function takes them."""
    return [
        Weight(name, value.detach().numpy(), layout_of(value)) for name, value in module.named_parameters()
    ]
