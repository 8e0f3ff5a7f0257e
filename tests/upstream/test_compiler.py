"""Obstacles in TVM's own interfaces: names of kernels, lowering, targets, debug information."""

import re

import pytest
import torch
import torch.nn.functional as F
import tvm
import tvm_ffi
from tvm import te
from tvm.script import tirx as T

from exporter.compiler.kernels import conv1d
from exporter.compiler.kernels.tiles import AVX512
from exporter.compiler.passes import compile_module
from tests.support.gpu.cuda_kernel import scaled
from tests.upstream.reproduction import (
    SHORT,
    X86_V3,
    built,
    imported,
    source,
)

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def test_create_prim_func_still_names_every_kernel_main() -> None:
    x = te.placeholder((4,), name="x")
    kernel = te.create_prim_func([x, te.compute((4,), lambda i: x[i] + 1.0)])
    assert kernel.attrs["global_symbol"] == "main", "works now: remove private=True from the kernels"


@T.prim_func(private=True, s_tir=True)
def fetch(x: T.Buffer((16,), "float32")) -> None:
    T.evaluate(tvm.tirx.call_intrin("void", tvm.ir.Op.get("tirx.prefetch"), T.address_of(x[0]), 0, 3, 1))


def test_functions_with_addresses_still_get_no_prefix() -> None:
    module = tvm.IRModule({"fetch": fetch}).with_attr("system_lib_prefix", "kokoro_fetch_")
    with pytest.raises(TypeError, match=r"ir\.Call"):
        tvm.relax.transform.AttachGlobalSymbol()(module)
        pytest.fail("works now: remove what _attach_symbols does beside it")


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
