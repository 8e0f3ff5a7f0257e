"""Sizes of kernels' jobs and register tiles, chosen by measuring all candidates on this machine.

No size changes a bit of a result. A candidate replaces the present sizes only if it is clearly faster for
utterances of both lengths, so that noise does not rewrite the table.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from rich.box import SIMPLE
from rich.console import Group
from rich.table import Table as Printed

from exporter.compiler.compile_stage import tvm_target
from exporter.compiler.kernels import conv1d, winograd
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.tiles import Sizes, Table, Tiles, tiles_of
from exporter.compiler.levels import UnknownCpuLevelError, choose_levels
from exporter.compiler.targets import CpuLevel, Target, find_target
from exporter.errors import ExportError
from exporter.export.jobs import worker_processes
from runtime_min.engine.machine import Machine, levels_that_run
from runtime_min.output.writer import write_file

MARGIN = 0.02
"""Part of the present time that a candidate must save."""
ROUNDS = 11
FRAMES = {"62 tokens": (97, 119, 143), "12 tokens": (13, 17, 23)}
"""Frames of utterances; several for each length, because a job's size may suit one of them by chance."""
_DTYPES = ("float32", "float16")
"""Types of stored weights for which Winograd's kernels have rows of their own."""
_CANDIDATES = {
    "columns": (16, 32, 48, 64), "rows": (4, 6, 8, 12), "vectors": (1, 2), "span": (64, 128, 256, 512)
}  # fmt: skip


class TuningError(ExportError):
    """A kernel could not be measured."""

    exit_code = 7


@dataclass(frozen=True)
class Case:
    """The convolution that is measured for a row of the table: the slowest that the row serves.

    Attributes:
        kernels: module of the kernel.
        spec: the convolution.
        rate: time steps of the convolution for each frame.
    """

    kernels: ModuleType
    spec: Convolution
    rate: int


def _cases() -> Iterator[Case]:
    residual = Convolution(
        128, 128, 3, activation="adain_snake", reads_channels_last=True, writes_channels_last=True
    )
    for channels, rate in ((256, 20), (128, 120)):
        for taps in (3, 7, 11):
            spec = replace(
                residual, out_channels=channels, in_channels=channels, taps=taps, padding=taps // 2
            )
            yield from (Case(winograd, replace(spec, weight_dtype=dtype), rate) for dtype in _DTYPES)
    upsampler = replace(
        residual, out_channels=768, in_channels=256, taps=2, padding=1, activation="leaky_relu"
    )
    yield from (Case(winograd, replace(upsampler, weight_dtype=dtype), 20) for dtype in _DTYPES)
    block = Convolution(512, 512, 3, padding=1, activation="adain_leaky_relu", slope=0.2)
    yield Case(conv1d, block, 1)
    yield Case(conv1d, replace(block, out_channels=256, in_channels=256), 2)
    last = Convolution(24, 128, 7, padding=3, activation="leaky_relu", slope=0.01, reads_channels_last=True)
    yield Case(conv1d, last, 120)


CASES = {case.kernels.table_row(case.spec): case for case in _cases()}
"""The measured convolution of each row of the table."""


@dataclass(frozen=True)
class Measured:
    """Sizes, and the mean ratio of their time to that of the present sizes, for each entry of `FRAMES`."""

    sizes: Sizes
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Choice:
    """The candidates measured for a row of the table and a CPU level; the present sizes come first."""

    level: str
    row: str
    measured: Sequence[Measured]

    @property
    def best(self) -> Measured:
        """The candidate whose smallest gain is the largest."""
        return min(self.measured, key=lambda measured: max(measured.ratios))

    @property
    def chosen(self) -> Sizes:
        """The best sizes if they save more than `MARGIN` at both lengths, else the present ones."""
        return (self.best if max(self.best.ratios) < 1 - MARGIN else self.measured[0]).sizes


def measurable_levels(target: Target, selection: str, machine: Machine) -> tuple[CpuLevel, ...]:
    """Returns the selected CPU levels; ``all`` selects those that this machine runs.

    Raises:
        UnknownCpuLevelError: a level has another name, or this machine does not run it.
    """
    levels = choose_levels(target, selection, machine)
    able = tuple(levels_that_run(levels, machine.features))
    if not able or (able != levels and selection != "all"):
        lacking = ", ".join(level.name for level in levels if level not in able)
        raise UnknownCpuLevelError(
            f"This machine does not run {lacking}, so nothing can be measured there: "
            "name another --cpu-level, or tune on a machine that runs it."
        )
    return able


def candidates(present: Sizes, tiles: Tiles) -> list[Sizes]:
    """Returns the present sizes of a kernel, then all other candidates."""
    combined = product(*(_CANDIDATES[name] for name in present))
    others = (dict(zip(present, values, strict=True)) for values in combined)
    # Only AVX-512 has registers for twelve rows.
    fitting = (sizes for sizes in others if sizes.get("rows", 0) <= 8 or tiles.lanes == 16)
    return [present, *(sizes for sizes in fitting if sizes != present)]


def measure(row: str, level: CpuLevel) -> Choice:
    """Compiles and measures every candidate of a row on one thread; runs in a process of its own."""
    tvm.get_global_func("runtime.config_threadpool")(1, 1)
    case, tiles = CASES[row], tiles_of(level)
    tried = candidates(case.kernels.sizes(case.spec, tiles), tiles)
    kernels = [_compiled(case, replace(tiles, table={row: sizes}), level) for sizes in tried]
    ratios = [
        np.mean([_ratios(kernels, _arguments(case, frames * case.rate)) for frames in utterances], axis=0)
        for utterances in FRAMES.values()
    ]
    by_sizes = zip(tried, np.transpose(ratios).tolist(), strict=True)
    return Choice(level.name, row, [Measured(sizes, tuple(values)) for sizes, values in by_sizes])


def _compiled(case: Case, tiles: Tiles, level: CpuLevel) -> Any:
    kernel = case.kernels.convolution(case.spec, tiles).with_attr("global_symbol", "kernel")
    return tvm.compile(kernel, tvm_target(find_target("host"), level))["kernel"]


def _arguments(case: Case, length: int) -> list[Any]:
    """Returns random arguments of the convolution, none of which is subnormal or overflows."""
    spec, random = case.spec, np.random.default_rng(0)
    weight = random.random((spec.out_channels, spec.in_channels, spec.taps), np.float32)
    after = [(spec.out_channels,), spec.affine_shape, spec.alpha_shape, (1,), (1,)]
    after.append(spec.output_shape(length + spec.growth))
    x, *others = (random.random(shape, np.float32) for shape in (spec.input_shape(length), *after))
    arrays = [x, case.kernels.pack_weight(weight).astype(spec.weight_dtype), *others]
    return [tvm_ffi.from_dlpack(tvm.runtime.tensor(array)) for array in arrays]


def _ratios(kernels: Sequence[Any], arguments: Sequence[Any]) -> list[float]:
    """Returns the median ratio of each kernel's CPU time to that of the first kernel in the same round."""
    rounds, random = [], np.random.default_rng(0)
    for _ in range(ROUNDS + 1):
        seconds = [0.0] * len(kernels)
        # In a new order each time, because a kernel's time depends on what the one before left in the caches.
        for index in random.permutation(len(kernels)):
            started = time.thread_time()
            kernels[index](*arguments)
            seconds[index] = time.thread_time() - started
        rounds.append([value / seconds[0] for value in seconds])
    # The first round touches memory for the first time.
    return [statistics.median(values) for values in zip(*rounds[1:], strict=True)]


def tune(levels: Sequence[CpuLevel], tell: Callable[[str], None]) -> list[Choice]:
    """Measures every row of the table for CPU levels that this machine runs.

    Raises:
        TuningError: a candidate could not be compiled, or the process that measures ended.
    """
    choices = []
    with worker_processes(1) as worker:
        for done, (level, row) in enumerate(product(levels, CASES)):
            tell(f"{done + 1} of {len(levels) * len(CASES)}: {row}, {level.name}")
            try:
                choices.append(worker.submit(measure, row, level).result())
            except Exception as error:
                raise TuningError(
                    f"{row} could not be measured for {level.name}: {type(error).__name__}: {error}\n"
                    "No row of the table was changed; correct the cause and run again."
                ) from error
    return choices


def write_table(path: Path, table: Table, choices: Sequence[Choice]) -> None:
    """Writes the table with the chosen sizes in place of the measured rows.

    Raises:
        OutputError: the file could not be written and is unchanged.
    """
    merged = {level: dict(rows) for level, rows in table.items()}
    for choice in choices:
        merged.setdefault(choice.level, {})[choice.row] = choice.chosen
    write_file(path, f"{json.dumps(merged, indent=2, sort_keys=True)}\n".encode())


def as_tables(choices: Sequence[Choice]) -> Group:
    """Returns a table for the terminal for each CPU level."""
    levels = dict.fromkeys(choice.level for choice in choices)
    return Group(*(_printed(level, [each for each in choices if each.level == level]) for level in levels))


def _printed(level: str, choices: Sequence[Choice]) -> Printed:
    headings = ("kernel", "present", "best", *FRAMES, "chosen")
    printed = Printed(*headings, title=f"{level}: the best sizes' time over the present ones'", box=SIMPLE)
    printed.columns[0].no_wrap = True
    for choice in choices:
        present = choice.measured[0].sizes
        ratios = (f"{ratio:.3f}" for ratio in choice.best.ratios)
        chosen = "present" if choice.chosen == present else "best"
        printed.add_row(choice.row, _text(present), _text(choice.best.sizes), *ratios, chosen)
    return printed


def _text(sizes: Sizes) -> str:
    return ", ".join(f"{name} {value}" for name, value in sizes.items())
