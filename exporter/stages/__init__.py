"""The five stages as torch modules made of kokoro's weights and the exporter's operators.

kokoro has no type information, so its modules are `Any` here.
"""

from torch import nn

from exporter.stages.audio import F0N, Decoder
from exporter.stages.text import Bert, Duration, TextEncoder

STAGE_MODULES: dict[str, type[nn.Module]] = {
    "bert": Bert,
    "duration": Duration,
    "text_encoder": TextEncoder,
    "f0n": F0N,
    "decoder": Decoder,
}


def make_stage(name: str, model: nn.Module) -> nn.Module:
    """The stage `name` with the weights of `model` (a `kokoro.KModel`)."""
    return STAGE_MODULES[name](model).eval()
