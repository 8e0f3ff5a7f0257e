"""The stand-in for GPUs computes what kernels say, and reports what a GPU would refuse or get wrong."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from numpy.typing import NDArray
from tvm import relax
from tvm.script import tirx as T

from tests.support.gpu import stand_in
from tests.support.gpu.stand_in import Ask
from tests.support.gpu.stand_in.compile_kernels import with_named_divisions

pytestmark = pytest.mark.machines

KINDS = ("metal", "cuda")
Array = NDArray[np.float32]


class Devices:
    """A process for each stand-in, and libraries of kernels for them."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.place, self._stack = place, stack
        self._processes: dict[tuple[str, bool], Ask] = {}

    def stand_in(self, kind: str, fast_math: bool = False) -> Path:
        return stand_in.build(kind, fast_math)

    def library(self, kind: str, kernel: Any) -> Path:
        name = kernel.attrs["global_symbol"]
        path = self.place / f"{name}_{kind}.so"
        if not path.exists():
            tvm.compile(tvm.IRModule({name: kernel}), target(kind)).export_library(str(path))
        return path

    def call(
        self, kind: str, kernel: Any, shape: tuple[int, ...], *inputs: Any, fast_math: bool = False
    ) -> Array:
        process = self._processes.get((kind, fast_math))
        if process is None:
            process = self._stack.enter_context(stand_in.calling(self.stand_in(kind, fast_math)))
            self._processes[kind, fast_math] = process
        name = kernel.attrs["global_symbol"]
        (result,) = process(str(self.library(kind, kernel)), name, [shape], inputs)
        return result


def target(kind: str) -> Any:
    host = {"kind": "llvm", "mtriple": tvm.target.codegen.llvm_get_system_triple()}
    return tvm.target.Target({"kind": kind, "host": host})


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    with ExitStack() as stack:
        yield Devices(tmp_path_factory.mktemp("stand_in"), stack)


every_kind = pytest.mark.parametrize("kind", KINDS)


@T.prim_func(s_tir=True)
def wave(x_handle: T.handle, divisor: T.float32, y_handle: T.handle) -> None:
    n = T.int64()
    x = T.match_buffer(x_handle, (n,), "float32")
    y = T.match_buffer(y_handle, (n,), "float32")
    for group in T.thread_binding((n + 255) // 256, thread="blockIdx.x"):
        for thread in T.thread_binding(256, thread="threadIdx.x"):
            if group * 256 + thread < n:
                y[group * 256 + thread] = T.exp(T.sin(x[group * 256 + thread])) / divisor


@T.prim_func(s_tir=True)
def transpose(x_handle: T.handle, y_handle: T.handle) -> None:
    n = T.int64()
    x = T.match_buffer(x_handle, (n, 32), "float32")
    y = T.match_buffer(y_handle, (32, n), "float32")
    for group in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
        for row in T.thread_binding(32, thread="threadIdx.y"):
            for column in T.thread_binding(32, thread="threadIdx.x"):
                tile = T.alloc_buffer((32, 33), "float32", scope="shared")
                if group * 32 + row < n:
                    tile[row, column] = x[group * 32 + row, column]
                T.tvm_storage_sync("shared")
                if group * 32 + column < n:
                    y[row, group * 32 + column] = tile[column, row]


@T.prim_func(s_tir=True)
def total(x_handle: T.handle, y_handle: T.handle) -> None:
    rows = T.int64()
    n = T.int64()
    x = T.match_buffer(x_handle, (rows, n), "float32")
    y = T.match_buffer(y_handle, (rows,), "float32")
    for row in T.thread_binding(rows, thread="blockIdx.x"):
        for thread in T.thread_binding(64, thread="threadIdx.x"):
            parts = T.alloc_buffer((64,), "float32", scope="shared")
            mine = T.alloc_buffer((1,), "float32", scope="local")
            mine[0] = T.float32(0)
            for turn in T.serial((n + 63) // 64):
                if turn * 64 + thread < n:
                    mine[0] = mine[0] + x[row, turn * 64 + thread]
            parts[thread] = mine[0]
            for level in T.unroll(6):
                T.tvm_storage_sync("shared")
                if thread < T.shift_right(32, level):
                    parts[thread] = parts[thread] + parts[thread + T.shift_right(32, level)]
            T.tvm_storage_sync("shared")
            if thread == 0:
                y[row] = parts[0]


@T.prim_func(s_tir=True)
def lanes_total(x: T.Buffer((8, 64), "float32"), y: T.Buffer((8,), "float32")) -> None:
    for row in T.thread_binding(8, thread="blockIdx.x"):
        for thread in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("sum"):
                i = T.axis.spatial(8, row)
                k = T.axis.reduce(64, thread)
                with T.init():
                    y[i] = T.float32(0)
                y[i] = y[i] + x[i, k]


@T.prim_func(s_tir=True)
def divergent(y: T.Buffer((64,), "float32")) -> None:
    for thread in T.thread_binding(64, thread="threadIdx.x"):
        if thread < 3:
            T.tvm_storage_sync("shared")
        y[thread] = T.float32(0)


@T.prim_func(s_tir=True)
def crowded(y: T.Buffer((2048,), "float32")) -> None:
    for thread in T.thread_binding(2048, thread="threadIdx.x"):
        y[thread] = T.float32(0)


@T.prim_func(s_tir=True)
def spacious(y: T.Buffer((64,), "float32")) -> None:
    for thread in T.thread_binding(64, thread="threadIdx.x"):
        parts = T.alloc_buffer((16384,), "float32", scope="shared")
        parts[thread * 256] = T.float32(0)
        T.tvm_storage_sync("shared")
        y[thread] = parts[(63 - thread) * 256]


@T.prim_func(s_tir=True)
def past_the_end(first: T.int32, y: T.Buffer((64,), "float32")) -> None:
    for thread in T.thread_binding(64, thread="threadIdx.x"):
        y[first + thread] = T.float32(0)


@T.prim_func(s_tir=True)
def past_the_tile(first: T.int32, y: T.Buffer((64,), "float32")) -> None:
    for thread in T.thread_binding(64, thread="threadIdx.x"):
        parts = T.alloc_buffer((64,), "float32", scope="shared")
        parts[first + thread] = T.float32(0)
        T.tvm_storage_sync("shared")
        y[thread] = parts[thread]


@T.prim_func(s_tir=True)
def first_half(y: T.Buffer((64,), "float32")) -> None:
    for thread in T.thread_binding(32, thread="threadIdx.x"):
        y[thread] = T.float32(0)


def samples(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


@every_kind
@pytest.mark.parametrize("length", [1, 256, 1000])
def test_elementwise_kernels_compute_every_length(devices: Devices, kind: str, length: int) -> None:
    x = samples(length)
    y = devices.call(kind, wave, (length,), x, 3.0)
    np.testing.assert_allclose(y, np.exp(np.sin(x)) / 3, rtol=1e-6)


@every_kind
@pytest.mark.parametrize("length", [1, 32, 77])
def test_threads_pass_values_through_shared_memory(devices: Devices, kind: str, length: int) -> None:
    x = samples(length, 32)
    np.testing.assert_array_equal(devices.call(kind, transpose, (32, length), x), x.T)


@every_kind
@pytest.mark.parametrize("length", [1, 63, 500])
def test_reductions_wait_at_every_barrier(devices: Devices, kind: str, length: int) -> None:
    x = samples(9, length)
    np.testing.assert_allclose(devices.call(kind, total, (9,), x), x.sum(1), rtol=1e-5, atol=1e-5)


@every_kind
def test_lanes_exchange_values(devices: Devices, kind: str) -> None:
    x = samples(8, 64)
    np.testing.assert_allclose(devices.call(kind, lanes_total, (8,), x), x.sum(1), rtol=1e-5, atol=1e-5)
    assert re.search("shfl|shuffle", source_of(devices.library(kind, lanes_total)))


def source_of(library: Path) -> str:
    return library.read_bytes().decode("latin-1")


@every_kind
def test_a_barrier_that_some_threads_miss_is_reported(devices: Devices, kind: str) -> None:
    with pytest.raises(
        RuntimeError, match=r"divergent_kernel.*divergent barrier: thread 0 waits .* thread 3 has returned"
    ):
        devices.call(kind, divergent, (64,))


@every_kind
def test_a_missing_barrier_shows_in_the_result(devices: Devices, kind: str) -> None:
    # TVM puts in what a kernel lacks, so it is taken out of what TVM made.
    made = devices.library(kind, transpose).read_bytes()
    racing, count = re.subn(
        rb"(threadgroup_barrier\([\w:]*\)|__syncthreads\(\));", lambda m: b" " * len(m[0]), made
    )
    assert count == 1
    path = devices.place / f"racing_{kind}.so"
    path.write_bytes(racing)
    x = samples(64, 32)
    with stand_in.calling(devices.stand_in(kind)) as ask:
        (y,) = ask(str(path), "transpose", [(32, 64)], [x])
    assert np.isnan(y).any()


@every_kind
def test_too_many_threads_are_refused(devices: Devices, kind: str) -> None:
    with pytest.raises(RuntimeError, match="group's x is 2048, expected 1 to 1024"):
        devices.call(kind, crowded, (2048,))


@every_kind
def test_too_much_threadgroup_memory_is_refused(devices: Devices, kind: str) -> None:
    most = {"metal": 32768, "cuda": 49152}[kind]
    with pytest.raises(RuntimeError, match=rf"6\d{{4}} bytes of threadgroup memory .* at most {most}"):
        devices.call(kind, spacious, (64,))


@every_kind
def test_an_empty_grid_is_refused(devices: Devices, kind: str) -> None:
    with pytest.raises(RuntimeError, match=r"grid's x is 0, expected 1|Metal has no buffers of 0 bytes"):
        devices.call(kind, total, (0,), samples(0, 5))


@every_kind
@pytest.mark.parametrize("first", [-1, 1])
def test_a_write_beside_a_tensor_is_reported(devices: Devices, kind: str, first: int) -> None:
    with pytest.raises(RuntimeError, match="past_the_end_kernel: device memory: something wrote"):
        devices.call(kind, past_the_end, (64,), first)


@every_kind
def test_a_write_beside_an_array_of_the_group_is_reported(devices: Devices, kind: str) -> None:
    with pytest.raises(RuntimeError, match="wrote past an array in threadgroup memory"):
        devices.call(kind, past_the_tile, (64,), 1)


@every_kind
def test_memory_that_nobody_wrote_is_nan(devices: Devices, kind: str) -> None:
    written = ~np.isnan(devices.call(kind, first_half, (64,)))
    assert written.tolist() == [True] * 32 + [False] * 32


@every_kind
def test_fast_math_is_off_by_what_the_device_may_be(devices: Devices, kind: str) -> None:
    x = samples(1000).clip(-3, 3)
    exact = devices.call(kind, wave, (1000,), x, 3.0)
    fast = devices.call(kind, wave, (1000,), x, 3.0, fast_math=True)
    assert np.mean(fast != exact) > 0.9
    # The sine is off by 2**-13, and the exponential of it by that times itself.
    np.testing.assert_allclose(fast, exact, rtol=1.01 * 2**-13)
    np.testing.assert_array_equal(devices.call(kind, wave, (1000,), x, 3.0, fast_math=True), fast)


def test_fast_math_names_divisions_as_they_are_nested() -> None:
    assert with_named_divisions("x = ((a / f(b)) / (c + (d / e)));") == (
        "x = stand_in_divide(stand_in_divide(a, f(b)), (c + stand_in_divide(d, e)));"
    )


HANDLES = """
import ctypes, sys
import tvm_ffi
for library in sys.argv[2:4]:
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
allocate = tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")
tensor = allocate(tvm_ffi.Shape((4,)), tvm_ffi.dtype("float32"), tvm_ffi.device(sys.argv[1] + ":0"), None)
print("allocated", flush=True)
ctypes.string_at(tensor.data_ptr(), 1)
"""


@every_kind
def test_the_host_cannot_read_through_a_device_pointer(devices: Devices, kind: str) -> None:
    arguments = [kind, str(stand_in.runtime_library()), str(devices.stand_in(kind))]
    done = subprocess.run([sys.executable, "-c", HANDLES, *arguments], capture_output=True, text=True)
    assert done.stdout == "allocated\n"
    assert done.returncode == -11, done.stderr


PARTS = """
import ctypes, sys
from pathlib import Path
import tvm
from tests.support.gpu import stand_in
kind, library, program = sys.argv[1:]
stand_in.load(Path(library))
y = tvm.runtime.empty((64,), "float32", tvm.device(kind, 0))
kernel = tvm.runtime.load_module(program).imports[0]["first_half_kernel"]
kernel(ctypes.c_void_p(y.data_ptr() + 4 * 32), 32)
print(y.numpy()[32:].tolist() == [0.0] * 32)
"""


def test_a_pointer_plus_bytes_is_an_address_on_cuda_and_refused_by_metal(devices: Devices) -> None:
    done = {}
    for kind in KINDS:
        arguments = [kind, str(devices.stand_in(kind)), str(devices.library(kind, first_half))]
        command = [sys.executable, "-c", PARTS, *arguments]
        done[kind] = subprocess.run(command, capture_output=True, text=True)
    assert done["cuda"].stdout == "True\n", done["cuda"].stderr
    assert "bytes cannot be added to its handle" in done["metal"].stderr


WITH_TVM = """
import sys
import numpy as np
import tvm
from tests.support.gpu import stand_in
from pathlib import Path
kind, library, program = sys.argv[1:]
stand_in.load(Path(library))
device = tvm.device(kind, 0)
assert device.exist
x = np.arange(77 * 32, dtype="float32").reshape(77, 32)
machine = tvm.relax.VirtualMachine(tvm.runtime.load_module(program), device)
y = machine["main"](tvm.runtime.tensor(x, device))
np.testing.assert_array_equal(y.numpy(), x.T + x.T)
"""


@every_kind
def test_a_relax_program_runs_on_it_beside_the_package_tvm(devices: Devices, kind: str) -> None:
    builder = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 32), "float32"))
    scheduled = transpose.without_attr("global_symbol").with_attr("tirx.is_scheduled", True)
    kernel = builder.add_func(scheduled, "transpose")
    with builder.function("main", [x]):
        turned = builder.emit(relax.call_tir(kernel, x, out_ty=relax.TensorType((32, n), "float32")))
        builder.emit_func_output(builder.emit(relax.op.add(turned, turned)))
    path = devices.place / f"program_{kind}.so"
    with target(kind):
        relax.build(builder.get(), target(kind)).export_library(str(path))
    arguments = [kind, str(devices.stand_in(kind)), str(path)]
    done = subprocess.run([sys.executable, "-c", WITH_TVM, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
