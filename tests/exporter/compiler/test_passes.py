"""The pass list: what it dumps, and that it leaves a module which the machine runs."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tvm import IRModule, relax

from exporter.compiler.import_stage import stage_weights
from exporter.compiler.passes import compile_module, passes
from tests.support import tiny_stage


class Dumped(NamedTuple):
    imported: IRModule
    executable: relax.VMExecutable
    directory: Path


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Dumped:
    directory = tmp_path_factory.mktemp("dump") / "of" / "sums"
    imported = tiny_stage.imported(tiny_stage.Sums().eval(), "sums", tiny_stage.Sums.SIGNATURE)
    return Dumped(imported, compile_module(imported, tiny_stage.target(), directory), directory)


@pytest.fixture
def dump(dumped: Dumped) -> Path:
    return dumped.directory


def test_one_file_is_dumped_after_import_and_after_each_pass(dump: Path) -> None:
    names = ["imported", *(name for name, _ in passes())]
    files = sorted(path.name for path in dump.iterdir())
    assert files == [f"{number:02}_{name}.py" for number, name in enumerate(names)]


def test_names_of_passes_are_unique() -> None:
    names = [name for name, _ in passes()]
    assert len(set(names)) == len(names)


def test_a_dump_is_the_module_as_tvmscript(dump: Path) -> None:
    for path in dump.iterdir():
        text = path.read_text()
        assert "class Module" in text, path.name
        assert "def sums" in text, path.name


def test_memory_is_planned_for_the_bucket(dump: Path) -> None:
    (planned,) = dump.glob("*_plan_memory.py")
    # Both signals are copied to one place, which the longer of them fills at the bucket's length.
    assert planned.read_text().count("R.memory.alloc_storage(") == 1
    assert f"R.memory.alloc_storage(R.shape([{4 * 5 * tiny_stage.BUCKET}])" in planned.read_text()


def test_a_dump_changes_nothing(dumped: Dumped) -> None:
    plain = compile_module(dumped.imported, tiny_stage.target())
    signals = [np.random.default_rng(0).standard_normal((1, size), np.float32) for size in (9, 45)]
    weights = [weight.values for weight in stage_weights(tiny_stage.Sums())]
    results = [
        tiny_stage.run(executable, "sums", *signals, *weights) for executable in (plain, dumped.executable)
    ]
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()
