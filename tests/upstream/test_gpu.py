"""Obstacles on the way to a GPU: constants, functions without threads, fused multiply-adds."""

import re
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from tvm import relax
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.passes import phases
from tests.upstream.reproduction import SHORT, imported

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

METAL = tvm.target.Target({"kind": "metal", "host": {"kind": "llvm", "mtriple": "x86_64-linux-gnu"}})
THIRD = float(np.float32(1 / 3))


def kernel(compute: Any) -> PrimFunc:
    """A kernel that gives one number what `compute` makes of it."""

    @T.prim_func(s_tir=True)
    def change(x: T.Buffer((32,), "float32"), y: T.Buffer((32,), "float32")) -> None:
        for lane in T.thread_binding(32, "threadIdx.x"):
            y[lane] = compute(x[lane])

    return change.with_attr("global_symbol", "change")


def metal_source(module: Any) -> str:
    """The kernels' source in a module and those below it; empty where there is none."""
    own = module.inspect_source() if module.kind == "metal" else ""
    return own + "".join(metal_source(part) for part in module.imports)


def test_constants_of_metal_still_have_seven_digits() -> None:
    source = metal_source(tvm.compile(kernel(lambda x: x + T.float32(THIRD)), METAL).mod)
    (constant,) = re.findall(r"\+ ([0-9.e+-]+)f", source)
    assert np.float32(constant) != np.float32(THIRD), "works now: kernels.gpu.constants can go"


def test_a_function_without_threads_is_still_built_for_the_host_without_a_word() -> None:
    module = imported(lambda x: torch.cat([x, x], dim=1), (SHORT,))
    with METAL:
        for run in (run for passes in phases("llvm").values() for run in passes.values()):
            module = run(module)
    executable = relax.build(module, target=METAL, relax_pipeline=None)
    assert metal_source(executable.mod) == "", "works now: the check in _bind_threads can go"


def test_the_intrinsic_fma_is_still_unknown_to_metal() -> None:
    with pytest.raises(Exception, match=r"Unresolved call.*fma"):
        tvm.compile(kernel(lambda x: T.call_intrin("float32", "tirx.fma", x, x, x)), METAL)
