"""CUDA: source becomes machine code for every architecture, in a library that TVM's CUDA runtime takes."""

from __future__ import annotations

import importlib.metadata
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import lief
import pytest
import tvm
import tvm_ffi

from exporter.compiler import cuda
from exporter.compiler.cuda import ARCHITECTURES, PTX_ARCHITECTURE, CudaCompileError, CudaCompilerMissingError
from exporter.compiler.link import link_library
from exporter.compiler.passes import compile_module
from exporter.compiler.targets import find_target
from tests.support.gpu.cuda_kernel import RUN, THREADS, scaled
from tests.support.gpu.fatbin import CUBIN, MAGIC, PTX, entries
from tests.support.paths import ROOT

TARGET = tvm.target.Target(
    {"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm", "mtriple": "x86_64-linux-gnu"}}
)
DIVISION = 'extern "C" __global__ void divide(float *x) { *x = *x / 3.1f + __fsqrt_rn(*x) * x[1]; }'
TVM_LIBRARIES = Path(tvm.__file__).parent / "lib"


def export(path: Path) -> bytes:
    with cuda.fatbins():
        executable = compile_module(scaled(), TARGET)
    link_library(executable, path, find_target("cuda-linux"))
    return path.read_bytes()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("cuda") / "library.so"
    export(path)
    return path


def test_a_library_has_machine_code_for_every_architecture_and_ptx_for_later_ones(library):
    content = library.read_bytes()
    assert content.count(MAGIC) == 1
    found = entries(content[content.index(MAGIC) :])
    expected = [(CUBIN, number) for number in ARCHITECTURES] + [(PTX, PTX_ARCHITECTURE)]
    assert [(entry.kind, entry.architecture) for entry in found] == expected
    for entry in found[:-1]:
        # The ELF header's flags name the architecture too.
        (flags,) = struct.unpack_from("<I", entry.code, 48)
        assert (entry.code[:4], flags >> 8 & 0xFF) == (b"\x7fELF", entry.architecture)
        assert b".text.scale_kernel" in entry.code


def test_a_library_holds_no_source_and_needs_nothing_of_cuda(library):
    content = library.read_bytes()
    for part in (b"__global__", b"#include", b"#define", b"expf("):
        assert part not in content
    parsed = lief.ELF.parse(library)
    assert set(parsed.libraries) <= {"libc.so.6", "libm.so.6"}
    assert not [symbol.name for symbol in parsed.imported_symbols if str(symbol.name).startswith("cu")]


def test_the_cuda_runtime_of_tvm_hands_the_fatbin_to_the_driver(library, tmp_path):
    runtime = TVM_LIBRARIES / "libtvm_runtime_cuda.so"
    source = (ROOT / "tests" / "support" / "gpu" / "cuda_driver.c").read_text()
    libraries = [
        fake(tmp_path, name, prefix, source, runtime)
        for name, prefix in (("libcudart.so.13", "cuda"), ("libcuda.so.1", "cu"))
    ]
    length, image = 1000, tmp_path / "image"
    libraries += [TVM_LIBRARIES / "libtvm_runtime.so", runtime, library]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *libraries, str(length)],
        capture_output=True,
        text=True,
        env={**os.environ, "LOADED_IMAGE": str(image)},
    )
    assert done.returncode == 0, done.stderr
    blocks = -(-length // THREADS)
    assert done.stdout.splitlines() == [
        "function scale_kernel",
        f"grid {blocks} 1 1 block {THREADS} 1 1 length {length}",
        f"({length},)",
    ]
    assert image.read_bytes() in library.read_bytes()
    assert len(entries(image.read_bytes())) == len(ARCHITECTURES) + 1


def fake(directory: Path, name: str, prefix: str, source: str, runtime: Path) -> Path:
    """Builds a library with every function that `runtime` wants of it; what `source` has not does nothing."""
    parsed = lief.ELF.parse(runtime)
    symbols = sorted({str(symbol.name).partition("@")[0] for symbol in parsed.imported_symbols})
    wanted = [symbol for symbol in symbols if symbol.startswith(prefix) and symbol[len(prefix)].isupper()]
    missing = [symbol for symbol in wanted if f"int {symbol}(" not in source]
    (directory / f"{name}.c").write_text(
        source + "".join(f"int {symbol}(void) {{ return 0; }}\n" for symbol in missing)
    )
    (directory / "versions").write_text(f"{name} {{ global: *; }};\n")
    options = ("-shared", "-fPIC", f"-Wl,-soname,{name}", "-Wl,--version-script=versions")
    subprocess.run(["cc", *options, "-o", name, f"{name}.c"], cwd=directory, check=True)
    return directory / name


def test_there_is_no_fast_math():
    ptx = entries(cuda.fatbin(DIVISION))[-1].code
    assert b"div.rn.f32" in ptx and b"sqrt.rn.f32" in ptx and b"fma.rn.f32" in ptx
    assert b".ftz" not in ptx and b".approx" not in ptx


def test_the_same_source_gives_the_same_library_which_names_no_directory(library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cuda.compiled_once.cache_clear()
    content = export(tmp_path / "again.so")
    assert content == library.read_bytes()
    for directory in (Path.cwd(), Path(__file__).parent, Path.home()):
        assert f"{directory}/".encode() not in content


def test_a_refused_kernel_is_an_error_with_the_compilers_log(monkeypatch):
    fatbin, message = cuda.fatbin, 'identifier "banana" is undefined'
    with pytest.raises(CudaCompileError, match=message) as caught:
        fatbin("__global__ void kernel() { banana(); }")
    assert caught.value.exit_code == 7
    # The same error comes out of TVM's build.
    monkeypatch.setattr(cuda, "compiled_once", lambda source: fatbin(source.replace("expf", "banana")))
    with pytest.raises(CudaCompileError, match=message), cuda.fatbins():
        compile_module(scaled(), TARGET)


def test_the_context_leaves_tvm_as_it_was(monkeypatch):
    monkeypatch.setenv("TVM_COMPILE_FORCE_FALLBACK", "0")
    with cuda.fatbins():
        assert os.environ["TVM_COMPILE_FORCE_FALLBACK"] == "1"
    assert os.environ["TVM_COMPILE_FORCE_FALLBACK"] == "0"
    assert tvm_ffi.get_global_func("tvm_callback_cuda_postproc", allow_missing=True) is None


@pytest.mark.parametrize("missing", ["nvidia-cuda-nvrtc", "nvidia-nvfatbin"])
def test_a_missing_compiler_is_an_error_that_names_the_package_and_the_remedy(missing, monkeypatch):
    find = importlib.metadata.distribution

    def without(name: str) -> importlib.metadata.Distribution:
        if name == missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(importlib.metadata, "distribution", without)
    remedy = rf"{missing} is not installed: .*pip install 'kokoro-export\[cross\]'"
    with pytest.raises(CudaCompilerMissingError, match=remedy) as caught, cuda.fatbins():
        compile_module(scaled(), TARGET)
    assert caught.value.exit_code == 5


def test_a_compiler_whose_ptx_older_drivers_refuse_is_an_error(monkeypatch):
    assert cuda.versions("cpu") == cuda.versions("metal") == {}
    assert set(cuda.versions("cuda")) == {"nvidia-cuda-nvrtc", "nvidia-nvfatbin"}
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: SimpleNamespace(version="13.1.80"))
    with pytest.raises(CudaCompilerMissingError, match=r"nvidia-cuda-nvrtc is 13\.1\.80, expected 13\.0\."):
        cuda.versions("cuda")


def test_objects_without_cuda_modules_stay_as_they_are(tmp_path):
    path = tmp_path / "object.o"
    path.write_bytes(b"cuda" + bytes(range(256)))
    cuda.mark_compiled([path])
    assert path.read_bytes() == b"cuda" + bytes(range(256))
