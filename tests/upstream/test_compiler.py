"""Obstacles in TVM's own interfaces: names of kernels, lowering, targets, debug information."""

import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import tvm
import tvm_ffi
from tvm import relax, te
from tvm.s_tir import Schedule, TensorIntrin
from tvm.script import tirx as T

from exporter.compiler.kernels import conv1d
from exporter.compiler.kernels.tiles import AVX512
from exporter.compiler.passes import compile_module
from tests.support.cuda_kernel import scaled
from tests.upstream.reproduction import (
    BASELINE,
    SHORT,
    X86_V3,
    built,
    called,
    entry,
    imported,
    source,
    still_fails,
)

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

FOURS = np.arange(4, dtype=np.float32)


def _increment() -> Any:
    x = te.placeholder((4,), name="x")
    return te.create_prim_func([x, te.compute((4,), lambda i: x[i] + 1.0)])


def _calls(kernel: Any) -> Any:
    def body(builder: Any, m: Any, x: Any) -> Any:
        variable = builder.add_func(kernel, "increment")
        return relax.call_tir(variable, (x,), relax.TensorType((4,), "float32"))

    return entry(lambda m: [[4]], body)


def test_create_prim_func_still_names_every_kernel_main() -> None:
    kernel = _increment()
    with still_fails(tvm.error.InternalError, "duplicate global symbol: main", "private=True on the kernels"):
        built(_calls(kernel))
    nameless = kernel.without_attr("global_symbol")
    np.testing.assert_array_equal(called(built(_calls(nameless)), FOURS), FOURS + 1)


def _sevenfold(builder: Any, call: Any) -> Any:
    def compute(x: Any) -> Any:
        return te.compute(x.shape, lambda *i: x(*i) * tvm.tirx.const(7, "float32"))

    return builder.call_te(compute, call.args[0])


def test_an_override_of_legalization_at_the_default_level_is_still_refused() -> None:
    with still_fails(
        tvm.error.InternalError, "already registered with same plevel=10", "the map given to LegalizeOps"
    ):
        tvm.ir.register_op_attr("relax.asinh", "FLegalize", _sevenfold, level=10)


def test_legalization_is_overridden_by_a_map_without_touching_the_registry() -> None:
    module = entry(lambda m: [[m]], lambda builder, m, x: relax.op.acosh(x))
    mapped = relax.transform.LegalizeOps({"relax.acosh": _sevenfold})(module)
    np.testing.assert_array_equal(called(built(mapped), FOURS), FOURS * 7)


def test_the_option_tir_enable_debug_is_gone_and_its_successor_changes_no_llvm_code() -> None:
    with (
        pytest.raises(AttributeError, match=r"Invalid config option 'tir\.enable_debug'"),
        tvm.transform.PassContext(config={"tir.enable_debug": False}),
    ):
        pass
    module = imported(torch.sin, (SHORT,))
    codes = []
    for debug in (False, True):
        with tvm.transform.PassContext(config={"tirx.enable_debug": debug}):
            codes.append(source(built(module), "ll"))
    assert "#dbg_declare" in codes[0], "works now: debug information can be left out"
    # The names of alias scopes are addresses.
    assert len({re.sub("0x[0-9a-f]+", "", code) for code in codes}) == 1


def test_llvm_accepts_the_debug_information_of_a_fused_instance_norm() -> None:
    def normalize(x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(F.instance_norm(torch.sin(20 * x)) * 2, 0.2)

    module = imported(normalize, (SHORT,))
    for step in (
        relax.transform.DecomposeOpsForInference(),
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ):
        module = step(module)
    executable = relax.build(module, target=BASELINE)
    np.testing.assert_allclose(called(executable, SHORT), normalize(SHORT).numpy(), atol=1e-5)


def test_mcpu_native_is_still_not_resolved() -> None:
    native = tvm.target.Target({"kind": "llvm", "mcpu": "native"})
    processors = set(
        re.findall(r'"target-cpu"="([^"]*)"', source(built(imported(torch.sin, (SHORT,)), native), "ll"))
    )
    assert processors == {"generic"}, "works now: mcpu may be native"


def test_the_default_schedule_of_a_convolution_still_uses_one_thread_and_no_vectors() -> None:
    weight = torch.ones(64, 64, 3)
    code = source(
        built(imported(lambda x: F.conv1d(x, weight, padding=1), (torch.zeros(1, 64, 256),)), X86_V3), "ll"
    )
    multiplications = re.findall(r"(?:fmul|@llvm\.fma\.).*", code)
    assert multiplications
    assert not any("x float>" in line for line in multiplications), (
        "works now: compare with the kernel conv1d"
    )
    assert "TVMBackendParallelLaunch" not in code, "works now: compare with the kernel conv1d"


@pytest.mark.parametrize("name", ["sin", "exp"])
def test_elementwise_functions_still_call_the_scalar_libm_on_one_thread(name: str) -> None:
    code = source(built(imported(getattr(torch, name), (torch.zeros(1, 4096),)), X86_V3), "asm")
    assert re.search(rf"call\w*\s+{name}f", code), "works now: compare with kernels.vector_math"
    assert "TVMBackendParallelLaunch" not in code


@T.prim_func(private=True, s_tir=True)
def _eight_increments(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    with T.sblock("root"):
        T.reads(x[0:8])
        T.writes(y[0:8])
        for i in range(8):
            with T.sblock("y"):
                j = T.axis.spatial(8, i)
                y[j] = x[j] + T.float32(1)


@T.prim_func(private=True, s_tir=True)
def _eight_lanes(
    x: T.Buffer((8,), "float32", offset_factor=1),
    y: T.Buffer((8,), "float32", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(x[0:8])
        T.writes(y[0:8])
        for i in T.vectorized(8):
            with T.sblock("y"):
                j = T.axis.spatial(8, i)
                y[j] = x[j] + T.float32(1)


def test_tensorize_works_with_the_installed_tvm_ffi() -> None:
    TensorIntrin.register("upstream.increment", _eight_increments, _eight_lanes)
    x = te.placeholder((64,), name="x")
    schedule = Schedule(te.create_prim_func([x, te.compute((64,), lambda i: x[i] + 1.0, name="y")]))
    _, inner = schedule.split(schedule.get_loops(schedule.get_sblock("y"))[0], [None, 8])
    schedule.tensorize(inner, "upstream.increment")
    assert "T.vectorized(8)" in schedule.mod.script()


def test_a_function_without_noalias_still_slows_down_the_others() -> None:
    """Sums leave the registers: every fused multiply-add is followed by a store of its sum."""
    kernel = conv1d.convolution(conv1d.Convolution(2304, 768, 1), AVX512).with_attr("global_symbol", "conv")

    @T.prim_func(s_tir=True)
    def length(shape: T.Buffer((2,), "int64")) -> None:
        T.func_attr({"global_symbol": "length"})
        shape[1] = shape[0] * T.int64(2048)

    def sums_in_memory(other: tvm.tirx.PrimFunc) -> int:
        target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64-v4"})
        module = tvm.compile(tvm.IRModule({"conv": kernel, "length": other}), target=target).mod
        return len(re.findall(r"vfmadd\d+ps[^\n]*(%zmm\d+)\n\s*vmovups\s+\1,", module.inspect_source("asm")))

    assert sums_in_memory(length.with_attr("tirx.noalias", True)) == 0
    assert sums_in_memory(length) > 0, "works now: remove _mark_noalias from exporter/compiler/passes.py"


def test_cuda_source_is_still_left_uncompiled_where_there_is_no_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The environment variable makes this machine one without a driver, if it has one."""
    monkeypatch.setenv("TVM_COMPILE_FORCE_FALLBACK", "1")
    compiled = []

    def compile_source(code: str) -> bytes:
        compiled.append(code)
        return b"compiled"

    name = "tvm_callback_cuda_compile"
    usual = tvm.get_global_func(name)
    tvm_ffi.register_global_func(name, compile_source, override=True)
    try:
        target = tvm.target.Target({"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm"}})
        module = compile_module(scaled(), target).mod
    finally:
        tvm_ffi.register_global_func(name, usual, override=True)
    (device,) = (part for host in module.imports for part in host.imports)
    assert not compiled, "works now: remove fatbins and mark_compiled from exporter/compiler/cuda.py"
    assert "__global__" in device.inspect_source("cuda"), (
        "works now: remove mark_compiled from exporter/compiler/cuda.py"
    )
