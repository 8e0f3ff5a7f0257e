"""What the instance norms of kokoro's decoder find in utterances of a voice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from exporter.reference.recording import Arrays, RecordingModel
from exporter.reference.traces import ModelInput


def norm_statistics(recorded: RecordingModel, requests: Sequence[ModelInput]) -> Arrays:
    """Speaks some utterances and takes statistics over all of their frames together.

    Returns:
        Mean and standard deviation of each channel, float64 [2, channels], by the norm's path in kokoro's
        decoder, such as ``generator.resblocks.0.adain1.0``.
    """
    from kokoro.istftnet import AdaIN1d

    torch = recorded.torch
    sums: dict[str, Any] = {}

    def add(path: str, _: Any, given: tuple[Any, ...]) -> None:
        x = given[0][0].double()
        counts = torch.full((x.shape[0],), x.shape[1], dtype=x.dtype)
        sums[path] = sums.get(path, 0) + torch.stack([counts, x.sum(1), (x * x).sum(1)])

    hooks = [
        module.register_forward_pre_hook(partial(add, path))
        for path, module in recorded.model.decoder.named_modules()
        if isinstance(module, AdaIN1d)
    ]
    try:
        for request in requests:
            recorded.speak(request)
    finally:
        for hook in hooks:
            hook.remove()
    found = {}
    for path, (counts, total, squares) in sums.items():
        mean = total / counts
        deviation = torch.sqrt((squares / counts - mean * mean).clamp(min=0))
        found[path] = torch.stack([mean, deviation]).numpy()
    return found
