"""The time of an utterance by stage and kernel, in the libraries of the bundle.

TVM calls a hook before and after each kernel.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.measure.engine import BundleEngine
from exporter.measure.results import KernelTime, Profile, StageTime, Tensors
from exporter.validate.kernel_order import family
from exporter.validate.observe import stage_inputs
from runtime_min import Bundle
from runtime_min.engine.stage_runner import StageRunner
from runtime_min.format.signatures import SAMPLE_RATE, STAGE_NAMES

Call = tuple[str, Tensors]
"""A kernel's name and the tensors that it is called on."""
RUNTIME = "TVM's virtual machine"
"""Family of the calls that prepare those of kernels: memory, shapes, checks."""


@dataclass
class Watch:
    """Measures the time of each kernel in one run of a stage."""

    calls: list[Call] | None = None
    """List to which the calls are appended; None if they are only timed."""
    seconds: list[float] = field(default_factory=list)
    first: float = 0.0
    """Time in seconds at which the first call began."""
    last: float = 0.0
    """Time in seconds at which the last call ended."""
    _started: float = 0.0

    def __call__(self, function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
        """Reads the clock as close to a kernel as possible; TVM calls this before and after the kernel."""
        if not before:
            self.last = time.perf_counter()
            self.seconds.append(self.last - self._started)
            return 0
        if self.calls is not None:
            self.calls.append((str(name), _tensors(arguments)))
        self._started = time.perf_counter()
        self.first = self.first or self._started
        return 0


def _tensors(arguments: Sequence[Any]) -> Tensors:
    tensors = (each for each in arguments if hasattr(each, "dtype") and hasattr(each, "shape"))
    return tuple((tuple(map(int, each.shape)), np.dtype(str(each.dtype)).itemsize) for each in tensors)


def profile_stage(
    runner: StageRunner, inputs: Mapping[str, NDArray[Any]], rounds: int
) -> tuple[StageTime, tuple[KernelTime, ...]]:
    """Runs a stage `rounds` times with and without the hook, alternating, after one run of both."""
    calls: list[Call] = []
    runner.run(inputs)
    runner.run(inputs, instrument=Watch(calls))
    plain, watches = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        runner.run(inputs)
        plain.append(time.perf_counter() - started)
        watches.append(Watch())
        runner.run(inputs, instrument=watches[-1])
    seconds = [statistics.median(times) for times in zip(*(watch.seconds for watch in watches), strict=True)]
    stage = StageTime(
        runner.stage.name,
        statistics.median(plain),
        statistics.median(watch.last - watch.first for watch in watches),
        sum(seconds),
    )
    return stage, by_kernel(runner.stage.name, calls, seconds)


def by_kernel(stage: str, calls: Sequence[Call], seconds: Sequence[float]) -> tuple[KernelTime, ...]:
    """Returns the calls of each kernel added up, the slowest kernel first."""
    found: dict[str, list[tuple[Tensors, float]]] = {}
    for (name, tensors), taken in zip(calls, seconds, strict=True):
        found.setdefault(name, []).append((tensors, taken))
    kernels = [
        KernelTime(stage, name, family_of(name), tuple(tensors for tensors, _ in of_kernel),
                   sum(taken for _, taken in of_kernel))
        for name, of_kernel in found.items()
    ]  # fmt: skip
    return tuple(sorted(kernels, key=lambda kernel: -kernel.seconds))


def family_of(name: str) -> str:
    """Returns the family of a kernel or of a function of TVM that a library calls."""
    return RUNTIME if name.startswith("vm.builtin.") or name == "shape_func" else family(name)


def profile(engine: BundleEngine, phonemes: str, rounds: int) -> Profile:
    """Returns the profile of one utterance, measured in this process."""
    with Bundle.load(engine.bundle, threads=engine.threads, level=engine.level, verify=False) as bundle:
        trace = bundle.trace(phonemes, engine.voice)
        whole = []
        for _ in range(rounds):
            started = time.perf_counter()
            bundle.synthesize(phonemes=phonemes, voice=engine.voice)
            whole.append(time.perf_counter() - started)
        found = [
            profile_stage(bundle.stage(name), stage_inputs(bundle.stage(name), trace), rounds)
            for name in STAGE_NAMES
        ]
        return Profile(
            trace.token_ids.shape[1],
            bundle.threads,
            rounds,
            trace.audio.shape[1] / SAMPLE_RATE,
            statistics.median(whole),
            tuple(stage for stage, _ in found),
            tuple(kernel for _, kernels in found for kernel in kernels),
        )
