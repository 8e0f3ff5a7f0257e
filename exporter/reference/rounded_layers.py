"""The effect of rounding the weights of one layer on its output, for every layer of kokoro."""

from __future__ import annotations

from typing import Any

import numpy as np

from exporter.compiler.library import StoredWeights
from exporter.reference.recording import Arrays, RecordingModel, load_model
from exporter.reference.traces import ModelInput


def rounded_layers(recorded: RecordingModel, request: ModelInput, stored: StoredWeights) -> Arrays:
    """Runs an utterance, and in it every layer a second time with rounded weights on the same input.

    Returns:
        By the path of each layer whose output changes, the decibels of the change, worst first.
    """
    rounded = dict(load_model(*recorded.files, stored).named_modules(remove_duplicate=False))
    powers: dict[str, Any] = {}

    def compare(path: str) -> Any:
        def compare_output(_: Any, args: Any, named: Any, output: Any) -> None:
            expected = _tensor(output).double()
            error = _tensor(rounded[path](*args, **named)).double() - expected
            powers[path] = powers.get(path, 0) + np.array([float((x**2).sum()) for x in (error, expected)])

        return compare_output

    layers = {
        path: module
        for path, module in recorded.model.named_modules()
        if next(module.children(), None) is None and next(module.parameters(), None) is not None
    }
    hooks = [
        module.register_forward_hook(compare(path), with_kwargs=True, prepend=True)
        for path, module in layers.items()
    ]
    try:
        recorded.speak(request)
    finally:
        for hook in hooks:
            hook.remove()
    found = {path: -10 * np.log10(error / power) for path, (error, power) in powers.items() if error}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _tensor(output: Any) -> Any:
    """Returns the first tensor of what a layer returns; an LSTM's packed sequence is a tuple too."""
    return _tensor(output[0]) if isinstance(output, tuple) else output
