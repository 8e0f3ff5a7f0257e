"""The devices on which stages compute: their part of TVM's runtime, and moving tensors there and back.

A device has its own memory: a tensor there is a handle, which only TVM may interpret (on Metal it is not an
address).
"""

from __future__ import annotations

import ctypes
import importlib.util
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, LibraryLoadError
from ..format.bundle_files import BundleFiles
from ..format.manifest import CPU, Manifest
from .vm import CPU_TYPE, IN_COMPILED, IN_RUNTIME, aligned_memory, load_runtime, to_tvm

_TYPES = {CPU: CPU_TYPE, "cuda": 2, "metal": 8}
"""DLPack's numbers."""
_NEEDS = {
    "cuda": "a GPU with NVIDIA's driver for CUDA 13, and libcudart.so.13, which pip install "
    "nvidia-cuda-runtime brings",
    "metal": "a GPU that macOS uses by Metal",
}
_EXISTS = 0
"""TVM's number of the attribute of a device that is 1 if it exists."""

_lock = threading.Lock()


class Device:
    """A device that stages compute on. All methods are called on the worker's thread."""

    def __init__(self, tvm_ffi: Any, name: str) -> None:
        """Takes the manifest's name of a device whose runtime is loaded."""
        self.name = name
        self.is_cpu = name == CPU
        self.types = (CPU_TYPE,) if self.is_cpu else (_TYPES[name], CPU_TYPE)
        """DLPack's numbers of the devices of TVM's virtual machine: this one, and the CPU for shapes."""
        self._tvm_ffi = tvm_ffi
        self._handle = tvm_ffi.Device(name, 0)
        self._allocate = tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")
        self._copy = tvm_ffi.get_global_func("runtime.TVMTensorCopyFromTo")
        self._synchronise = tvm_ffi.get_global_func("runtime.Device_StreamSync")

    def place(self, tensor: Any) -> Any:
        """Returns a copy of a TVM tensor on the device, or the tensor itself if the device is the CPU."""
        if self.is_cpu:
            return tensor
        placed = self._allocate(tensor.shape, tensor.dtype, self._handle, None)
        self._move(tensor, placed)
        return placed

    def fetch(self, tensor: Any) -> NDArray[Any]:
        """Waits until a TVM tensor of the device is computed, and returns its numbers as an array."""
        if self.is_cpu:
            return np.from_dlpack(tensor)
        array = aligned_memory(tuple(tensor.shape), np.dtype(str(tensor.dtype)))
        self._move(tensor, to_tvm(self._tvm_ffi, array))
        return array

    def _move(self, source: Any, destination: Any) -> None:
        self._copy(source, destination)
        # A copy continues after the call, and the memory on this side may be freed.
        self._synchronise(self._handle, 0)


def load_devices(tvm_ffi: Any, files: BundleFiles, manifest: Manifest) -> dict[str, Device]:
    """Returns the devices of a bundle's stages by name, having loaded their runtimes.

    Raises:
        DeviceError: this machine has no such device, or lacks what the device's runtime needs.
    """
    with _lock:
        for name in {stage.device for stage in manifest.stages} - {CPU}:
            _load(tvm_ffi, files, manifest, name)
    return {name: Device(tvm_ffi, name) for name in {stage.device for stage in manifest.stages}}


def _load(tvm_ffi: Any, files: BundleFiles, manifest: Manifest, name: str) -> None:
    """Makes sure that the runtime of a device is in the process and finds such a device."""
    if name in manifest.device_libraries and not _is_registered(tvm_ffi, name):
        if name == "cuda":
            _load_cudart()
        try:
            load_runtime(files, manifest.device_libraries[name], IN_COMPILED, IN_RUNTIME)
        except LibraryLoadError as failure:
            raise _error(manifest, name, f"its runtime could not be loaded ({failure})") from failure
    if not _is_registered(tvm_ffi, name):
        raise _error(manifest, name, "TVM has no runtime for it")
    if not tvm_ffi.get_global_func("runtime.GetDeviceAttr")(_TYPES[name], 0, _EXISTS):
        raise _error(manifest, name, "no such device was found")


def _is_registered(tvm_ffi: Any, name: str) -> bool:
    return tvm_ffi.get_global_func(f"device_api.{name}", allow_missing=True) is not None


def _load_cudart() -> None:
    """Loads the library of the package nvidia-cuda-runtime, if there is one: no search path leads to it."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec and spec.submodule_search_locations) or ():
        for library in Path(place).glob("*/lib/libcudart.so.13"):
            with suppress(OSError):
                ctypes.CDLL(str(library))


def _error(manifest: Manifest, name: str, reason: str) -> DeviceError:
    target = manifest.target
    stages = ", ".join(stage.name for stage in manifest.stages if stage.device == name)
    return DeviceError(
        f"This bundle computes {stages} on {name}, and {reason}: expected {_NEEDS[name]}. Use such a "
        f"machine, or export a bundle for {target.system}-{target.machine}, which computes on the CPU."
    )
