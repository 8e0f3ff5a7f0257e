"""The kernel call of a stage's library that computes each block of the model.

A library calls its kernels in the order of the operators of the stage's torch module. That module, built
without weights, is run here on tensors without data, and the operators are counted. It needs TVM's compiler
(for the weights' layouts), which must not share a process with a bundle, so a process
of its own runs this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.processes import Process

if TYPE_CHECKING:
    from torch import nn

KERNEL = "kernel:"
_EXAMPLE_LENGTH = 24


@dataclass(frozen=True)
class StageCalls:
    """The kernels of one stage."""

    kernels: tuple[str, ...]
    """The family of each kernel call, in order."""
    outputs: Mapping[str, tuple[int, ...]]
    """Index of the call that writes a block's output, for each time that the block runs.

    By the block's path in the stage's torch module, and by `KERNEL` and the kernel's family.
    """

    def is_kernel(self, name: str) -> bool:
        """Returns whether a function is a kernel of the exporter's, and not one of TVM's own."""
        return family(name) in self.kernels


def family(name: str) -> str:
    """Returns the name of a kernel without the numbers after it."""
    return re.sub(r"(_?\d+)+$", "", name)


def stage_calls(config: Path, precision: str) -> dict[str, StageCalls]:
    """Returns the kernel calls of every stage of a model's configuration with weights of a precision.

    Raises:
        ReferenceProcessError: the stages could not be built.
    """
    with Process(_send_calls, config, precision) as process:
        calls: dict[str, StageCalls] = process.receive()
        return calls


def trace_stage(module: nn.Module, inputs: tuple[Any, ...]) -> StageCalls:
    """Runs a stage's module without data and returns its kernel calls."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from exporter.compiler.converters import OPERATORS
    from exporter.compiler.operators import NAMESPACE

    kernels: list[str] = []
    outputs: dict[str, list[int]] = {}

    class Count(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function.namespace == NAMESPACE:
                for kernel in OPERATORS[function._schema.name.partition("::")[2]].kernels:
                    outputs.setdefault(KERNEL + kernel, []).append(len(kernels))
                    kernels.append(kernel)
            return function(*args, **(kwargs or {}))

    def finished(path: str) -> Any:
        return lambda *_: outputs.setdefault(path, []).append(len(kernels) - 1)

    hooks = [part.register_forward_hook(finished(path)) for path, part in module.named_modules() if path]
    try:
        with torch.no_grad(), Count():  # type: ignore[no-untyped-call]
            module(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return StageCalls(tuple(kernels), {path: tuple(calls) for path, calls in outputs.items()})


def _send_calls(connection: Connection, config: Path, precision: str) -> None:
    import torch

    from exporter.compiler.kokoro_model import model_without_weights
    from exporter.compiler.stages import STAGE_MODULES, make_stage
    from runtime_min.format.signatures import signatures

    text = config.read_text(encoding="utf-8")
    sizes = json.loads(text)
    described = signatures(sizes["hidden_dim"], sizes["style_dim"])
    found = {}
    for name in STAGE_MODULES:
        inputs = tuple(
            torch.zeros(tensor.concrete(_EXAMPLE_LENGTH), dtype=getattr(torch, tensor.dtype), device="meta")
            for tensor in described[name].inputs
        )
        found[name] = trace_stage(make_stage(name, model_without_weights(text), precision=precision), inputs)
    connection.send(found)
