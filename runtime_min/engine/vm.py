"""The TVM runtime within this process: loading it, its threads, and calls of compiled functions.

TVM keeps a pool of threads for each thread that calls it, and binds that caller to processor cores. So all
calls of a bundle run on one worker thread of the bundle's own: the app's threads stay as they are, and a
hundred callers do not make a hundred pools.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, cycle, islice, takewhile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ClosedBundleError,
    ForkError,
    InstallationError,
    KokoroError,
    LibraryLoadError,
    ResourceError,
    ScalesError,
    TvmVersionError,
)
from ..format.bundle_files import BundleFiles
from ..format.manifest import ALIGNMENT, SCALES, Manifest, Parameters
from ..format.transforms import Matrix, loaded
from ..threads import check_threads, leave_thread, take_thread, usable_cores
from .sealed_library import library_file
from .tvm_ffi_package import import_tvm_ffi

CPU_TYPE = 1
"""DLPack's number of the CPU."""
_POOLED_ALLOCATOR = 2
_TOO_MUCH = 1 << 60
"""Bytes that no process can have."""
_SHARE_ALL_CORES = -3
"""TVM's affinity mode in which every thread of a pool may run on every core given."""
IN_RUNTIME = b"runtime.NumThreads"
"""A function of TVM's runtime; its name is in no other library."""
_IN_DEVICE_RUNTIMES = b"device_api."
"""Begins names in TVM's runtime and in its parts for devices, and none in compiled libraries."""
IN_COMPILED = b"__tvm_ffi__library_bin"
"""A symbol of every compiled library, and of no part of the runtime."""
_LOADER = "ffi.Module.load_from_file.so"
"""TVM's loader of shared libraries, on every system."""

_lock = threading.Lock()
_runtime: tuple[str, str | None] | None = None
"""Version and digest of the TVM runtime that this module brought into the process."""

Result = TypeVar("Result")
Instrument = Callable[..., int]
"""Called as ``(function, name, before, result, *arguments)``; 1 instead of 0 before a kernel skips it."""


def load_tvm(files: BundleFiles, manifest: Manifest) -> Any:
    """Returns the module `tvm_ffi` after making sure that the TVM runtime is in the process.

    The bundle's own runtime is loaded unless the process already has one, and stays loaded.

    Raises:
        InstallationError: apache-tvm-ffi is missing, or neither the bundle nor the process has a runtime.
        TvmVersionError: apache-tvm-ffi, or a runtime that is already loaded, does not fit the bundle.
        LibraryLoadError: the runtime cannot be loaded, or the file is not TVM's runtime.
    """
    global _runtime
    library, versions = manifest.runtime_library, manifest.versions
    digest = next((entry.sha256 for entry in manifest.files if entry.path == library), None)
    with _lock:
        tvm_ffi = import_tvm_ffi()
        _check_tvm_ffi(tvm_ffi.__version__, versions.tvm_ffi)
        if not _has_runtime(tvm_ffi):
            if not library:
                raise InstallationError(
                    "Neither this bundle nor this process has a TVM runtime: expected the app to load one of "
                    f"version {versions.tvm} before the bundle."
                )
            load_runtime(files, library, IN_COMPILED)
            if not _has_runtime(tvm_ffi):
                raise _other_kind(files, library)
            _runtime = versions.tvm, digest
        # A runtime that we did not load came with the package `tvm`.
        found, loaded = _runtime or (getattr(sys.modules.get("tvm"), "__version__", "unknown"), "")
        # The file that was loaded fits, even if an earlier bundle's manifest gives it another version.
        if versions.tvm != found and digest != loaded:
            raise TvmVersionError(
                f"The bundle was compiled by TVM {versions.tvm}, and TVM {found} is already in this process: "
                "load the bundle in a process of its own, or export it with that version."
            )
        return tvm_ffi


def _has_runtime(tvm_ffi: Any) -> bool:
    return tvm_ffi.get_global_func(IN_RUNTIME.decode(), allow_missing=True) is not None


def load_runtime(files: BundleFiles, library: str, *foreign: bytes) -> None:
    """Loads a part of TVM's runtime into the process for good, visible to libraries that are loaded later.

    Raises:
        LibraryLoadError: it cannot be loaded, or has one of the names `foreign`.
        BundleError: the file is not the one that was checked.
    """
    content = _read_library(files, library, *foreign)
    try:
        with library_file(library, [content], kept=True) as path:
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    except OSError as failure:
        raise LibraryLoadError(f"{files.directory / library} could not be loaded: {failure}.") from failure


def _read_library(files: BundleFiles, library: str, *foreign: bytes) -> bytes:
    """Returns a library that has none of the names `foreign`.

    A manifest may name a file of another kind, and loading that could not be undone: a second runtime ends
    the process.
    """
    content = files.read(library)
    if any(name in content for name in foreign):
        raise _other_kind(files, library)
    return content


def _other_kind(files: BundleFiles, library: str) -> LibraryLoadError:
    return LibraryLoadError(
        f"{files.directory / library} is not the kind of library that the manifest lists it as: "
        "export the bundle again."
    )


def map_parameters(
    tvm_ffi: Any, files: BundleFiles, parameters: Parameters, transforms: Mapping[str, Matrix]
) -> dict[str, Any]:
    """Maps the parameter file and returns its tensors by name, without copying those that stay as they are.

    All processes that map the file share its memory. The mapping is copy-on-write because TVM takes no
    read-only arrays; nothing writes to it.

    Raises:
        ScalesError: a scale of weights is not a positive finite number.
    """
    if not parameters.tensors:
        return {}
    data = files.map(parameters.file)
    arrays = {
        tensor.name: np.ndarray(tensor.shape, tensor.dtype, buffer=data, offset=tensor.offset)
        for tensor in parameters.tensors
    }
    for name in arrays.keys() & {
        weight + SCALES for weight, array in arrays.items() if array.dtype == "int8"
    }:
        scales = arrays[name]
        wrong = scales[~((scales > 0) & (scales < np.inf))]
        if wrong.size:
            raise ScalesError(name, float(wrong[0]))
    for tensor in parameters.tensors:
        if matrix := transforms.get(tensor.layout):
            arrays[tensor.name] = loaded(arrays[tensor.name], matrix)
    return {name: to_tvm(tvm_ffi, array) for name, array in arrays.items()}


def to_tvm(tvm_ffi: Any, array: NDArray[Any]) -> Any:
    """Returns a TVM tensor over `array`, copied only if generated code could not read it where it is."""
    return tvm_ffi.from_dlpack(aligned(array), require_alignment=ALIGNMENT, require_contiguous=True)


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Returns `array`, or a copy if it is not contiguous, writable and at a multiple of `ALIGNMENT`."""
    if array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % ALIGNMENT == 0:
        return array
    copy = aligned_memory(array.shape, array.dtype)
    copy[...] = array
    return copy


def aligned_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns an uninitialised array at a multiple of `ALIGNMENT`."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def load_function(
    tvm_ffi: Any,
    files: BundleFiles,
    library: str,
    name: str,
    device_types: Sequence[int] = (CPU_TYPE,),
    instrument: Instrument | None = None,
) -> Callable[..., Any]:
    """Returns the entry function `name` of a compiled library.

    Args:
        tvm_ffi: the module.
        files: files of the bundle.
        library: path of the file; it is unloaded with the last reference to the function.
        name: name of the function.
        device_types: DLPack's number of the device on which it computes, and after it the CPU's, which
            computes shapes.
        instrument: called before and after each kernel of this function.

    Raises:
        LibraryLoadError: the library cannot be loaded or has no such function.
        BundleError: the file is not the one that was checked.
    """
    try:
        with library_file(library, [_read_library(files, library, _IN_DEVICE_RUNTIMES)]) as path:
            # tvm_ffi.load_module chooses a loader by the path's suffix, and keeps libraries for ever.
            module = tvm_ffi.get_global_func(_LOADER)(path, "so")
        machine = module["vm_load_executable"]()
        devices = [(device_type, 0, _POOLED_ALLOCATOR) for device_type in device_types]
        machine["vm_initialization"](*chain.from_iterable(devices))
        if instrument is not None:
            machine["set_instrument"](tvm_ffi.convert(instrument))
        function: Callable[..., Any] = machine[name]
    except KokoroError:
        raise
    except Exception as failure:
        reason = str(failure).strip().splitlines() or [type(failure).__name__]
        raise LibraryLoadError(
            f"The function {name} of {files.directory / library} could not be loaded: {reason[-1]}"
        ) from failure
    return function


class Worker:
    """The one thread on which a bundle calls TVM; calls from several threads wait for each other here."""

    def __init__(self, tvm_ffi: Any, threads: int) -> None:
        """Starts the thread, and TVM's pool of `threads` threads (this one included) behind it.

        Raises:
            ResourceError: the system starts no more threads.
        """
        check_threads(threads)
        self.tvm_ffi = tvm_ffi
        self.threads = threads
        self._clear_memory = tvm_ffi.get_global_func("vm.builtin.memory_manager.clear")
        self._process = os.getpid()
        # TVM never ends the pool of a thread that has ended, so bundles must not end their threads.
        self._thread = take_thread(threads)
        self._closed = False
        try:
            self.call(_make_pool, tvm_ffi, threads, usable_cores())
        except RuntimeError as failure:
            raise ResourceError(f"Starting {threads} threads", failure) from failure

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs `function` on the thread and returns what it returns.

        Raises:
            ForkError: this is a child of the process that started the thread.
            ClosedBundleError: the bundle was closed.
        """
        if os.getpid() != self._process:
            raise ForkError
        result: Result = self._thread.call(self._run, function, arguments)
        return result

    def _run(self, function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
        # The thread may be another bundle's by now.
        if self._closed:
            raise ClosedBundleError
        return function(*arguments)

    def close(self) -> None:
        """Waits until the thread has finished its present call, and frees TVM's memory."""
        with _lock:
            closed, self._closed = self._closed, True
        if closed:
            return
        # In a child process there is no thread to wait for, and a lock of the allocator may be held.
        if os.getpid() == self._process:
            with suppress(ClosedBundleError):
                self._thread.call(self._clear_memory)
            leave_thread(self._thread)

    def __del__(self) -> None:
        # No call can be running. The next bundle uses the memory that TVM's allocator keeps.
        if not getattr(self, "_closed", True):
            leave_thread(self._thread)


def _make_pool(tvm_ffi: Any, threads: int, cores: Sequence[int]) -> None:
    """Makes the calling thread's TVM pool with exactly `threads` threads, free to run on all `cores`."""
    configure = tvm_ffi.get_global_func("runtime.config_threadpool")
    # The first call makes a pool as large as the list; the second lets it run on all cores.
    configure(_SHARE_ALL_CORES, threads, [str(core) for core in islice(cycle(cores), threads)])
    _use_data_of_threads(tvm_ffi)
    configure(_SHARE_ALL_CORES, threads, [str(core) for core in cores])


def _use_data_of_threads(tvm_ffi: Any) -> None:
    """Uses what C++ libraries keep for each thread, in this thread and in those of its pool.

    glibc allocates that memory at the first use, and ends the process if there is none by then.
    """
    if sys.platform == "linux":
        runtime = ctypes.CDLL(None)
        # Waits until each has called a function without effect: a busy machine starts threads late.
        runtime.TVMBackendParallelLaunch(runtime.sched_yield, None, 0)
    # This thread's first C++ exception. Other errors of TVM look for a backtrace, which takes 0.2 s.
    with suppress(RuntimeError):
        tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")(
            tvm_ffi.Shape((_TOO_MUCH,)), tvm_ffi.dtype("int8"), tvm_ffi.Device("cpu", 0), None
        )


def _check_tvm_ffi(found: str, built: str) -> None:
    """Accepts releases of the same minor version from `built` on: they run code that `built` compiled."""
    found_numbers, built_numbers = _release(found), _release(built)
    if found_numbers[:2] != built_numbers[:2] or found_numbers < built_numbers:
        minor = ".".join(map(str, built_numbers[:2]))
        raise TvmVersionError(
            f"The bundle needs apache-tvm-ffi {minor}, from {built} on, and {found} is installed: "
            f'pip install "apache-tvm-ffi=={built}".'
        )


def _release(version: str) -> tuple[int, ...]:
    """Returns the numbers of a version before any suffix such as ``.post1``."""
    return tuple(map(int, takewhile(str.isdecimal, version.split("."))))
