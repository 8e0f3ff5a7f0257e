"""The pass list: what it dumps, and that it leaves a module which the machine runs."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tvm
from tvm import IRModule, relax, te
from tvm.ir import Op
from tvm.s_tir import Schedule
from tvm.script import tirx as T
from tvm.tirx import call_intrin

from exporter.compiler.passes import PassError, compile_module, phases
from exporter.compiler.stages import stage_weights
from tests.support.tiny import stage as tiny_stage


class Dumped(NamedTuple):
    imported: IRModule
    executable: relax.VMExecutable
    directory: Path


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Dumped:
    directory = tmp_path_factory.mktemp("dump") / "of" / "sums"
    imported = tiny_stage.imported_sums("sums")
    return Dumped(imported, compile_module(imported, tiny_stage.target(), directory), directory)


@pytest.fixture
def dump(dumped: Dumped) -> Path:
    return dumped.directory


@pytest.mark.parametrize("kind", ["llvm", "metal", "cuda"])
def test_phases_have_an_order_and_passes_names_of_their_own(kind: str) -> None:
    found = phases(kind)
    assert list(found) == ["fuse", "schedule", "lower", "finish"]
    assert (found["schedule"] == {}) == (kind == "llvm")
    names = [name for passes in found.values() for name in passes]
    assert len(set(names)) == len(names)


def test_the_module_is_dumped_as_tvmscript_after_import_and_after_each_pass(dump: Path) -> None:
    names = ["imported", *(name for passes in phases().values() for name in passes)]
    files = sorted(path.name for path in dump.iterdir())
    assert files == [f"{number:02}_{name}.py" for number, name in enumerate(names)]
    for path in dump.iterdir():
        text = path.read_text()
        assert "class Module" in text and "def sums" in text, path.name


def test_a_pass_that_fails_is_named_with_those_before_it() -> None:
    x = te.placeholder((1000,), name="x")
    schedule = Schedule(te.create_prim_func([x, te.compute((1000,), lambda i: x[i] + 1.0)]))
    schedule.bind(schedule.get_loops(schedule.get_sblock("compute"))[0], "threadIdx.x")
    greedy = IRModule({"greedy": schedule.mod["main"].with_attr("global_symbol", "greedy")})
    metal = tvm.target.Target({"kind": "metal", "host": "llvm"})
    message = (
        r"The pass bind_threads \(phase schedule\) failed after imported, legalize, .*, fuse_kernels: "
        r"AssertionError: greedy does not fit every GPU"
    )
    with pytest.raises(PassError, match=message):
        compile_module(greedy, metal)


def test_memory_is_planned_for_the_bucket_that_of_outputs_too(dump: Path) -> None:
    (planned,) = dump.glob("*_plan_memory.py")
    found = re.findall(r"alloc_storage\(R\.shape\(\[(.*?)\]\)", planned.read_text())
    # Both signals are copied to one place, which the longer of them fills at the bucket's length.
    copies, *outputs = (4 * size * tiny_stage.BUCKET for size in (5, 1 * 32, 5 * 32))
    assert sorted(map(int, found)) == sorted([copies, *(bytes - 4 * 32 for bytes in outputs)])


def shared_sizes(sizes: list[int], bound: int) -> list[int]:
    """Sizes of storages after the pass that lets stages share them."""
    builder, length = relax.BlockBuilder(), tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([length], "float32"))
    with builder.function("stage", [x], attrs={"tir_var_upper_bound": {"n": bound}}):
        for size in sizes:
            builder.emit(relax.op.memory.alloc_storage(relax.ShapeExpr([size]), 0, "global", "uint8"))
        builder.emit_func_output(x)
    shared = phases()["lower"]["share_storages"](builder.get())
    return [int(size) for size in re.findall(r"alloc_storage\(R\.shape\(\[(.*?)\]\)", shared.script())]


@pytest.mark.parametrize("bucket", [512, 1000, 5120])
def test_stages_use_the_same_storages_for_what_is_large(bucket: int) -> None:
    frame = 128 * 120 * 4
    f0n = shared_sizes([size * bucket for size in (8192, 4096, 2048, 2048)] + [6144], bucket)
    decoder = shared_sizes([frame * bucket + 512] * 4 + [88 * (120 * bucket + 1), 24, 2400 * bucket], bucket)
    assert f0n[:4] == decoder[:4] and len(set(decoder[:4])) == 1
    # What only one of them has stays apart, or it would come to lie in a block of its own of that size.
    assert decoder[0] not in {*f0n[4:], *decoder[4:]}
    assert decoder[0] < 1.1 * (frame * bucket + 512)


def test_a_dump_changes_nothing(dumped: Dumped) -> None:
    plain = compile_module(dumped.imported, tiny_stage.target())
    signals = [np.random.default_rng(0).standard_normal((1, size), np.float32) for size in (9, 45)]
    weights = [weight.values for weight in stage_weights(tiny_stage.Sums())]
    results = [
        tiny_stage.run(executable, "sums", *signals, *weights) for executable in (plain, dumped.executable)
    ]
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


@T.prim_func(private=True, s_tir=True)
def fetch(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")) -> None:
    for i in range(16):
        T.evaluate(call_intrin("void", Op.get("tirx.prefetch"), T.address_of(x[i]), 0, 3, 1))
        y[i] = x[i]


@pytest.mark.parametrize("prefix", [None, "kokoro_fetch_8_"])
def test_functions_with_prefetches_get_the_prefix_of_their_library(prefix: str | None) -> None:
    module = IRModule({"fetch": fetch})
    if prefix is not None:
        module = module.with_attr("system_lib_prefix", prefix)
    named = phases()["finish"]["attach_symbols"](module)
    ((variable, function),) = named.functions_items()
    assert variable.name_hint == function.attrs["global_symbol"] == f"{prefix or ''}fetch"
    tvm.ir.assert_structural_equal(function.body, fetch.body, map_free_vars=True)
