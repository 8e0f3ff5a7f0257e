"""The choice of kernels' sizes: what may be chosen changes no bit, and noise changes no table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from exporter import tune
from exporter.cli.main import app
from exporter.compiler.kernels import conv1d, tiles, winograd
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.tiles import AVX2, AVX512, Tiles, read_table, tiles_of
from exporter.compiler.levels import UnknownCpuLevelError
from exporter.compiler.targets import find_target
from exporter.tune import CASES, MARGIN, Case, Choice, Measured, TuningError
from runtime_min.engine.machine import Machine
from runtime_min.errors import DiskFullError
from tests.exporter.compiler.kernels import test_conv1d, test_winograd
from tests.exporter.compiler.kernels.test_conv1d import random_arguments
from tests.support.kernels.on_cpu import TILES, every_level

TARGET = find_target("linux-x86_64")
PRESENT = {"columns": 32, "rows": 8}
FASTER = Choice(
    "x86-64-v4",
    "winograd_128_3",
    [Measured(PRESENT, (1, 1)), Measured({"columns": 64, "rows": 8}, (0.9, 0.9))],
)
pairs = st.tuples(st.floats(0.5, 2), st.floats(0.5, 2))


@pytest.mark.parametrize(
    ("kernels", "spec"),
    [
        (winograd, test_winograd.SPECS["7 taps, dilation 3"]),
        (winograd, replace(test_winograd.SPECS["7 taps, dilation 3"], weight_dtype="float16")),
        (conv1d, test_conv1d.SPECS["two groups of channels"]),
    ],
)
def test_no_candidate_changes_a_bit(
    kernels: ModuleType, spec: Convolution, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, row = dict(TILES), kernels.table_row(spec)
    tried = {level: tune.candidates(kernels.sizes(spec, tiles), tiles) for level, tiles in usual.items()}
    calls = [random_arguments(spec, length) for length in (3, 150, 1300)]
    results = set()
    # The present sizes, some between, the greatest.
    for part in (0.0, 0.5, 1.0):
        for level, sizes in tried.items():
            chosen = sizes[math.ceil(part * (len(sizes) - 1))]
            monkeypatch.setitem(TILES, level, replace(usual[level], table={row: chosen}))
        results.add(tuple(test_conv1d.run(spec, *each, kernels=kernels).tobytes() for each in calls))
    assert len(results) == 1


@pytest.mark.parametrize("row", CASES)
@pytest.mark.parametrize("usual", [AVX2, AVX512])
def test_candidates_are_the_present_sizes_and_others(row: str, usual: Tiles) -> None:
    present = CASES[row].kernels.sizes(CASES[row].spec, usual)
    tried = tune.candidates(present, usual)
    assert tried[0] == present
    assert len(tried) == len({tuple(sizes.items()) for sizes in tried}) >= 4
    assert all(sizes.keys() == present.keys() for sizes in tried)
    assert max(sizes.get("rows", 8) for sizes in tried) <= usual.lanes


@given(st.lists(pairs, max_size=5))
def test_only_what_is_faster_at_every_length_takes_the_place_of_the_present_sizes(
    others: list[tuple[float, float]],
) -> None:
    found = [Measured({"span": index}, ratios) for index, ratios in enumerate([(1.0, 1.0), *others])]
    chosen = found[Choice("level", "row", found).chosen["span"]]
    winners = [measured for measured in found if max(measured.ratios) < 1 - MARGIN]
    assert chosen is found[0] if not winners else chosen in winners
    assert all(max(chosen.ratios) <= max(winner.ratios) for winner in winners)


@every_level
@pytest.mark.parametrize("kernels", [winograd, conv1d])
def test_every_candidate_is_measured_at_every_length(
    level: str, kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = {winograd: test_winograd.SPECS["2 taps"], conv1d: test_conv1d.SPECS["plain"]}
    monkeypatch.setattr(tune, "ROUNDS", 2)
    monkeypatch.setattr(tune, "FRAMES", {"long": (20, 25), "short": (5, 6)})
    tried = {"columns": (16, 32), "rows": (4, 8), "vectors": (2,), "span": (64,)}
    monkeypatch.setattr(tune, "_CANDIDATES", tried)
    monkeypatch.setitem(CASES, "tried", Case(kernels, specs[kernels], 2))
    cpu_level = next(each for each in TARGET.levels if each.name == level)
    with ThreadPoolExecutor(1) as thread_of_its_own:
        choice = thread_of_its_own.submit(tune.measure, "tried", cpu_level).result()
    assert (choice.level, choice.row) == (level, "tried")
    assert choice.measured[0] == Measured(kernels.sizes(specs[kernels], TILES[level]), (1.0, 1.0))
    ratios = np.array([measured.ratios for measured in choice.measured])
    assert ratios.shape == (len(tune.candidates(choice.measured[0].sizes, TILES[level])), 2)
    assert (ratios > 0).all() and np.isfinite(ratios).all()


def test_the_table_of_the_tree_has_what_tune_could_have_written() -> None:
    levels = {level.name: level for level in TARGET.levels}
    for name, rows in read_table().items():
        usual = replace(tiles_of(levels[name]), table={})
        for row, sizes in rows.items():
            case = CASES[row]
            assert sizes in tune.candidates(case.kernels.sizes(case.spec, usual), usual)
            assert case.kernels.sizes(case.spec, tiles_of(levels[name])) == sizes


def test_a_level_that_was_never_measured_has_the_usual_sizes() -> None:
    unknown = tiles_of(replace(TARGET.levels[0], name="new"))
    spec = CASES["winograd_256_3"].spec
    usual = {"columns": winograd.COLUMNS, "rows": AVX512.channels, "vectors": AVX512.vectors}
    assert winograd.sizes(spec, unknown) == usual


def machine(*levels: int) -> Machine:
    features = (feature for index in levels for feature in TARGET.levels[index].features)
    return Machine(TARGET.system, TARGET.machine, "glibc 2.28", frozenset(features))


def test_all_levels_are_those_that_the_machine_runs() -> None:
    best, lowest = TARGET.levels
    assert tune.measurable_levels(TARGET, "all", machine(0, 1)) == (best, lowest)
    assert tune.measurable_levels(TARGET, "all", machine(1)) == (lowest,)
    assert tune.measurable_levels(TARGET, "host", machine(1)) == (lowest,)
    assert tune.measurable_levels(TARGET, "x86-64-v3", machine(0, 1)) == (lowest,)


@pytest.mark.parametrize(
    ("selection", "runs"), [("all", ()), ("x86-64-v4", (1,)), ("x86-64-v3,x86-64-v4", (1,))]
)
def test_a_level_that_the_machine_does_not_run_is_refused(selection: str, runs: tuple[int, ...]) -> None:
    with pytest.raises(UnknownCpuLevelError, match="does not run x86-64-v4"):
        tune.measurable_levels(TARGET, selection, machine(*runs))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuning.json"
    path.write_text('{"x86-64-v4": {"conv1d_wide": {"span": 64}}}')
    monkeypatch.setattr(tiles, "TABLE", path)
    return path


def command(*options: str) -> Any:
    return CliRunner().invoke(app, ["tune", *options])


def test_the_table_is_shown_and_only_written_when_that_is_wanted(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "tune", lambda levels, tell: [FASTER])
    before = table.read_text()
    shown = command()
    assert shown.exit_code == 0 and "winograd_128_3" in shown.output and "0.900" in shown.output
    assert table.read_text() == before
    assert command("--write").exit_code == 0
    assert json.loads(table.read_text()) == {
        "x86-64-v4": {"conv1d_wide": {"span": 64}, "winograd_128_3": {"columns": 64, "rows": 8}}
    }
    assert list(table.parent.iterdir()) == [table]


def test_a_table_that_cannot_be_written_stays(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = table.read_text()
    monkeypatch.setattr(Path, "replace", no_room)
    with pytest.raises(DiskFullError):
        tune.write_table(table, read_table(), [FASTER])
    assert table.read_text() == before
    assert list(table.parent.iterdir()) == [table]


def test_a_kernel_that_cannot_be_measured_ends_the_command_with_what_happened(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(row: str, level: object) -> Choice:
        raise MemoryError("no room")

    @contextmanager
    def threads(workers: int) -> Iterator[ThreadPoolExecutor]:
        with ThreadPoolExecutor(workers) as pool:
            yield pool

    monkeypatch.setattr(tune, "worker_processes", threads)
    monkeypatch.setattr(tune, "measure", broken)
    before = table.read_text()
    assert TuningError.exit_code == 7
    ended = command("--write")
    assert ended.exit_code == 7
    assert "winograd_256_3 could not be measured" in ended.output and "MemoryError: no room" in ended.output
    assert table.read_text() == before
