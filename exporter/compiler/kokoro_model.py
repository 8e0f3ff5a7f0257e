"""kokoro's model, built from its configuration."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import torch
from torch.nn.utils import remove_weight_norm

from exporter.compiler.long_lived import long_lived


@cache
def kokoro_class() -> Any:
    """Returns kokoro.KModel, which takes seconds to import."""
    with long_lived():
        from kokoro.model import KModel
    return KModel


def build_model(config: Mapping[str, Any]) -> Any:
    """Returns kokoro.KModel in eval mode with arbitrary weights; needs no network and prints no warnings."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        nothing = io.BytesIO()
        torch.save({}, nothing)
        nothing.seek(0)
        # KModel hands `model` to torch.load, so an empty file in memory keeps it from the network.
        model = kokoro_class()(repo_id="", config=config, model=nothing, disable_complex=False)
        return model.eval().requires_grad_(False)


@lru_cache(maxsize=1)
def model_without_weights(config: str) -> Any:
    """Returns kokoro.KModel with shapes alone: all its tensors are on torch's device ``meta``.

    Args:
        config: the configuration, in JSON.
    """
    with torch.device("meta"):
        return build_model(json.loads(config))


def make_weights_plain(model: torch.nn.Module) -> None:
    """Replaces the direction and magnitude of each weight under weight_norm by the weight that they make."""
    for module in model.modules():
        if hasattr(module, "weight_v"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                remove_weight_norm(module)
            module.weight.requires_grad_(False)
