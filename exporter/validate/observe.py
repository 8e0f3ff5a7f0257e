"""The inside of a stage of a bundle: the library that is shipped, kernel by kernel.

TVM calls an instrument before and after each kernel. So every tensor between two kernels can be read, and
replaced by pt.dynamic's, without compiling anything again: each block is judged on equal inputs, whatever the
blocks before it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.errors import ExportError
from exporter.reference.traces import Array
from exporter.validate.kernel_order import StageCalls, family
from runtime_min.engine.stage_runner import StageRunner
from runtime_min.model.chain import Trace

_RUN, _SKIP = 0, 1


class UnknownKernelsError(ExportError):
    """A library does not call the kernels that this exporter's stage calls."""

    exit_code = 4


@dataclass
class _Observation:
    """Counts the calls of kernels, and reads or replaces their outputs."""

    calls: StageCalls
    read: frozenset[int]
    replace: Mapping[int, Array]
    only: frozenset[int] | None
    found: dict[int, Array] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def __call__(self, function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
        if before:
            return _SKIP if self._skips(name) else _RUN
        if self.calls.is_kernel(name):
            self._finished(np.from_dlpack(arguments[-1]))
        return _RUN

    def _skips(self, name: str) -> bool:
        """Counts a kernel; returns whether it is left out."""
        if not self.calls.is_kernel(name):
            return False
        self.names.append(name)
        return self.only is not None and len(self.names) - 1 not in self.only

    def _finished(self, output: NDArray[Any]) -> None:
        index = len(self.names) - 1
        if index in self.read:
            self.found[index] = output.copy()
        if index in self.replace:
            value = self.replace[index]
            # Channels are rounded up to whole blocks; nothing reads those that are not the model's.
            output[tuple(map(slice, value.shape))] = value


def observe(
    runner: StageRunner,
    calls: StageCalls,
    inputs: Mapping[str, Array],
    read: Iterable[int],
    replace: Mapping[int, Array] | None = None,
    parameters: Mapping[str, NDArray[np.float32]] | None = None,
    only: Iterable[int] | None = None,
) -> tuple[dict[str, Array], dict[int, Array]]:
    """Runs a stage of a bundle and looks inside.

    Args:
        runner: the stage.
        calls: which kernels it calls.
        inputs: as for `StageRunner.run`.
        read: indices of the kernel calls whose output is wanted, as `calls` numbers them.
        replace: values that later kernels read in place of a call's output, by the call's index.
        parameters: arrays in place of the bundle's.
        only: the kernels to run; the stage's outputs then mean nothing.

    Returns:
        The stage's outputs by name, and the outputs that were read, by index.

    Raises:
        UnknownKernelsError: the library calls other kernels than `calls` says.
    """
    seen = _Observation(calls, frozenset(read), replace or {}, frozenset(only) if only is not None else None)
    outputs = runner.run(inputs, instrument=seen, parameters=parameters)
    families = tuple(family(name) for name in seen.names)
    if families != calls.kernels:
        raise UnknownKernelsError(
            f"The library of the stage {runner.stage.name!r} calls {len(families)} kernels: expected "
            f"{len(calls.kernels)} in the order {', '.join(calls.kernels[:8])}, …, found "
            f"{', '.join(families[:8])}, …. Validate the bundle with the kokoro-export that made it."
        )
    return outputs, seen.found


def stage_inputs(runner: StageRunner, trace: Trace) -> dict[str, NDArray[Any]]:
    """Returns the inputs of a stage in a trace."""
    styles = {"prosody_style": trace.style.prosody, "decoder_style": trace.style.decoder}
    names = [tensor.name for tensor in runner.stage.inputs]
    return {name: styles[name] if name in styles else getattr(trace, name) for name in names}
