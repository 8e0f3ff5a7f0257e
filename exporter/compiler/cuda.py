"""CUDA kernels: TVM's source becomes a fatbin, machine code for the GPUs of today and PTX for later ones.

NVIDIA's compiler NVRTC and its packer nvFatbin are libraries in packages of their own. They need neither a
GPU nor a driver nor a toolkit, start no process and write no files; the same source gives the same bytes.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from exporter.errors import ExportError

ARCHITECTURES = (80, 86, 89, 90, 100, 120)
"""Compute capabilities, times ten, that get machine code; it runs on later ones of the same major version."""
PTX_ARCHITECTURE = ARCHITECTURES[-1]
"""Compute capability, times ten, of the PTX that a driver translates for GPUs newer than all of these."""

# PTX of CUDA 13.1 or newer is refused by a driver for 13.0, the oldest that TVM's CUDA runtime works with.
_NVRTC_RELEASE = "13.0."
_LIBRARIES = "nvidia/cu13/lib"
# No fast math: denormals stay, divisions and roots are rounded correctly. A multiplication and an addition
# may be fused, which rounds once instead of twice.
_OPTIONS = ("--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--fmad=true", "--disable-warnings")
_PACKING = ("-64", "-compress=false")
# Left alone, the compiler takes up to 157 registers for a thread of a convolution; with 128, two blocks of
# 256 threads run on a multiprocessor instead of one, and next to nothing is spilled.
_BOUNDS = re.compile(r"__launch_bounds__\((\d+)\)")
_RESIDENT_THREADS = 512
# The parts that are used of the headers with which TVM's source begins.
_HEADERS = {
    "cuda/std/cstdint": """namespace cuda { namespace std {
using int8_t = signed char; using int16_t = short; using int32_t = int; using int64_t = long long;
using uint8_t = unsigned char; using uint16_t = unsigned short;
using uint32_t = unsigned int; using uint64_t = unsigned long long;
} }""",
    "cuda/std/type_traits": """namespace cuda { namespace std {
template <class A, class B> struct is_same;
template <class A, class B> constexpr bool is_same_v = false;
template <class A> constexpr bool is_same_v<A, A> = true;
template <class A> struct is_integral;
template <class A> struct is_signed;
template <class A> struct is_unsigned;
template <class A> struct is_floating_point;
template <bool condition, class A> struct enable_if;
template <bool condition, class A, class B> struct conditional;
} }""",
}
# A module of the kind "cuda" in a library: kind, size, then its format; every string after its length.
_SOURCE_MODULE = re.compile(rb"(\x04\0{7}cuda.{8}\x04\0{7})cuda", re.DOTALL)
_COMPILED = b"fatb"


class CudaCompilerMissingError(ExportError):
    """NVIDIA's compiler is not installed, or not in the release that is needed."""

    exit_code = 5


class CudaCompileError(ExportError):
    """NVIDIA's compiler refused a kernel's source."""

    exit_code = 7


def versions(device: str) -> dict[str, str]:
    """Returns the versions of the packages that compile for a device, by name; none but for ``cuda``.

    Raises:
        CudaCompilerMissingError: one is missing or of another release.
    """
    if device != "cuda":
        return {}
    found = {name: _distribution(name).version for name in ("nvidia-cuda-nvrtc", "nvidia-nvfatbin")}
    if not found["nvidia-cuda-nvrtc"].startswith(_NVRTC_RELEASE):
        raise CudaCompilerMissingError(
            f"nvidia-cuda-nvrtc is {found['nvidia-cuda-nvrtc']}, expected {_NVRTC_RELEASE}*: "
            "install it with pip install 'kokoro-export[cross]'."
        )
    return found


def fatbin(source: str) -> bytes:
    """Compiles CUDA source for every architecture.

    Args:
        source: the output of TVM's code generator, or any CUDA C++ that includes no other headers.

    Returns:
        A fatbin: a cubin for each of `ARCHITECTURES` and PTX for later ones.

    Raises:
        CudaCompilerMissingError: the compiler is not installed.
        CudaCompileError: it refused the source; its log is in the message.
    """
    names = [f"sm_{number}" for number in ARCHITECTURES] + [f"compute_{PTX_ARCHITECTURE}"]
    source = _BOUNDS.sub(lambda bounds: _resident(int(bounds[1])), source)
    _compiler()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        codes = list(threads.map(lambda name: _compile(source, name), names))
    return _pack(list(zip(names, codes, strict=True)))


@lru_cache(maxsize=4)
def compiled_once(source: str) -> bytes:
    """Returns `fatbin(source)`, once: libraries of other buckets and CPU levels have the same kernels."""
    return fatbin(source)


def _resident(threads: int) -> str:
    return f"__launch_bounds__({threads}, {max(1, _RESIDENT_THREADS // threads)})"


@contextmanager
def fatbins() -> Iterator[None]:
    """Compiles the CUDA modules that TVM builds within the context: they hold fatbins instead of source.

    Raises:
        CudaCompilerMissingError: the compiler is not installed.
        CudaCompileError: it refused a kernel.
    """
    import tvm_ffi

    versions("cuda")
    # Only TVM's CUDA runtime, which needs a driver, calls the callback that is meant for compiling. This one
    # may rewrite the source, into bytes too; where there is a driver, the runtime must not compile these.
    name, without_runtime = "tvm_callback_cuda_postproc", "TVM_COMPILE_FORCE_FALLBACK"
    failures: list[ExportError] = []

    def compile_source(source: str, _: Any) -> bytes:
        try:
            return compiled_once(source)
        except ExportError as error:
            failures.append(error)
            raise

    before = os.environ.get(without_runtime)
    os.environ[without_runtime] = "1"
    tvm_ffi.register_global_func(name, compile_source, override=True)
    try:
        yield
    except Exception as error:
        # TVM passes it on as a RuntimeError.
        if failures:
            raise failures[0] from error
        raise
    finally:
        tvm_ffi.registry.remove_global_func(name)
        if before is None:
            del os.environ[without_runtime]
        else:
            os.environ[without_runtime] = before


def mark_compiled(objects: Iterable[str | Path]) -> None:
    """Marks the CUDA modules of object files that were built within `fatbins` as machine code.

    TVM's code generator marks every module as source, which the runtime would compile when it loads it. Any
    other mark lets it hand the code to the driver, which knows a fatbin by its first bytes.

    Args:
        objects: files to be linked; those without CUDA modules stay as they are.
    """
    for path in map(Path, objects):
        content = path.read_bytes()
        marked = _SOURCE_MODULE.sub(rb"\1" + _COMPILED, content)
        if marked != content:
            path.write_bytes(marked)


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise CudaCompilerMissingError(
            f"NVIDIA's compiler is needed for CUDA, and its package {name} is not installed: "
            "install it with pip install 'kokoro-export[cross]'."
        ) from error


def _load(package: str, file: str) -> ctypes.CDLL:
    path = str(_distribution(package).locate_file(f"{_LIBRARIES}/{file}"))
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise CudaCompilerMissingError(
            f"{package} does not load ({error}): reinstall it with "
            f"pip install --force-reinstall {package}, on Linux."
        ) from error


@lru_cache(maxsize=1)
def _compiler() -> ctypes.CDLL:
    versions("cuda")
    # NVRTC looks for its builtins by name alone, which finds them once they are loaded.
    _load("nvidia-cuda-nvrtc", "libnvrtc-builtins.so.13.0")
    return _load("nvidia-cuda-nvrtc", "libnvrtc.so.13")


@lru_cache(maxsize=1)
def _packer() -> ctypes.CDLL:
    return _load("nvidia-nvfatbin", "libnvfatbin.so.13")


def _compile(source: str, architecture: str) -> bytes:
    """Returns a cubin for a real architecture (``sm_80``), PTX for a virtual one (``compute_80``)."""
    nvrtc = _compiler()
    program = ctypes.c_void_p()
    headers = (len(_HEADERS), _strings(_HEADERS.values()), _strings(_HEADERS))
    _call(nvrtc.nvrtcCreateProgram, ctypes.byref(program), source.encode(), b"kernels.cu", *headers)
    try:
        options = (f"--gpu-architecture={architecture}", *_OPTIONS)
        status = nvrtc.nvrtcCompileProgram(program, len(options), _strings(options))
        if status != 0:
            log = _filled(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            raise CudaCompileError(
                f"NVRTC refused a kernel for {architecture} (status {status}):\n"
                + log.rstrip(b"\0").decode(errors="replace")
            )
        if architecture.startswith("sm_"):
            return _filled(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        return _filled(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _pack(codes: Sequence[tuple[str, bytes]]) -> bytes:
    """Returns a fatbin of compiled code by architecture."""
    packer = _packer()
    handle = ctypes.c_void_p()
    options = (_strings(_PACKING), ctypes.c_size_t(len(_PACKING)))
    _call(packer.nvFatbinCreate, ctypes.byref(handle), *options)
    try:
        for name, code in codes:
            kind, _, number = name.partition("_")
            arguments = (handle, code, ctypes.c_size_t(len(code)), number.encode(), b"kernels")
            if kind == "sm":
                _call(packer.nvFatbinAddCubin, *arguments)
            else:
                _call(packer.nvFatbinAddPTX, *arguments, b"")
        return _filled(packer.nvFatbinSize, packer.nvFatbinGet, handle)
    finally:
        packer.nvFatbinDestroy(ctypes.byref(handle))


def _strings(values: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [value.encode() for value in values]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def _filled(ask_size: Any, fill: Any, handle: ctypes.c_void_p) -> bytes:
    """Returns a result of one of NVIDIA's libraries, which first gives its size."""
    size = ctypes.c_size_t()
    _call(ask_size, handle, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    _call(fill, handle, buffer)
    return buffer.raw


def _call(function: Any, *arguments: Any) -> None:
    status = function(*arguments)
    if status != 0:
        raise CudaCompileError(
            f"{function.__name__} failed with status {status}: reinstall nvidia-cuda-nvrtc and "
            "nvidia-nvfatbin with pip install --force-reinstall 'kokoro-export[cross]'."
        )
