"""A checkpoint as a file of the official layout, which is the only one that kokoro's own loader reads."""

from __future__ import annotations

import warnings
from pathlib import Path


def write_torch_checkpoint(checkpoint: Path, config: Path, output: Path) -> None:
    """Writes any checkpoint that the exporter loads as a ``.pth`` file.

    The weights of layers under weight_norm come back within one rounding, because kokoro divides each row of
    them by its length again.

    Args:
        checkpoint: a file that `exporter.model.checkpoint.load_model` accepts.
        config: its configuration.
        output: the file to write.
    """
    import torch
    from torch.nn.utils import weight_norm

    from exporter.compiler.kokoro_model import build_model
    from exporter.model.checkpoint import load_model
    from exporter.model.config import PARTS, read_config

    model, _ = load_model(checkpoint, config)
    original = build_model(read_config(config))
    normed = [name for name, module in original.named_modules() if hasattr(module, "weight_v")]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", FutureWarning)
        for module in map(model.get_submodule, normed):
            weight_norm(module)
            # A row of zeros has no direction: any will do.
            module.weight_v[module.weight_g.flatten() == 0] = 1
    states = {part: getattr(model, part).state_dict() for part in PARTS}
    prefixed = {
        part: {f"module.{name}": value for name, value in state.items()} for part, state in states.items()
    }
    torch.save(prefixed, output)
