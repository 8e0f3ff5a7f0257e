"""The import of `tvm_ffi` without torch, which would take a second and 180 MB, in apps that may use torch."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

from ..errors import ResourceError, TvmMissingError

_SHORTAGES = ("failed to map segment", "annot allocate memory", "Too many open files")
"""Parts of glibc's messages about a library that exists and cannot be loaded."""


def import_tvm_ffi() -> Any:
    """Returns the module `tvm_ffi`, which has torch if the app has imported torch before.

    Otherwise torch is imported neither now nor later by `tvm_ffi`, and what `tvm_ffi` offers for torch starts
    to work when the app imports torch. Other threads may import torch meanwhile.

    Raises:
        TvmMissingError: the package is not installed.
        ResourceError: there is too little memory, or no file left to open.
    """
    without_torch = {"tvm_ffi", "torch"}.isdisjoint(sys.modules)
    finder = _NoTorch()
    if without_torch:
        sys.meta_path.insert(0, finder)
    try:
        tvm_ffi: Any = importlib.import_module("tvm_ffi")
    except ImportError as failure:
        if any(shortage in str(failure) for shortage in _SHORTAGES):
            raise ResourceError("Importing apache-tvm-ffi", failure) from failure
        raise TvmMissingError(
            f"The package apache-tvm-ffi is missing ({failure}): pip install numpy apache-tvm-ffi"
        ) from failure
    finally:
        if without_torch:
            sys.meta_path.remove(finder)
    if without_torch and getattr(tvm_ffi.core, "torch", tvm_ffi) is None:
        _offer_torch_later(tvm_ffi)
    return tvm_ffi


class _NoTorch:
    """A finder that hides torch from the thread that made it, and from no other."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("torch is not imported here", name=name)


class _TorchLater:
    """Has torch's attributes once the app has imported torch; before, nothing is an instance of its types."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules.get("torch"), name, ())


def _offer_torch_later(tvm_ffi: Any) -> None:
    """Repairs the places where `tvm_ffi` recorded that torch is missing."""
    core, stream = tvm_ffi.core, tvm_ffi.stream

    def data_type(torch_dtype: object) -> Any:
        return tvm_ffi.dtype(str(core.DataType(str(torch_dtype).removeprefix("torch."))))

    def use_torch_stream(context: Any = None) -> Any:
        importlib.reload(stream)
        tvm_ffi.use_torch_stream = stream.use_torch_stream
        return stream.use_torch_stream(context)

    core.torch = tvm_ffi._convert.torch = _TorchLater()
    core._convert_torch_dtype_to_ffi_dtype = data_type
    tvm_ffi.use_torch_stream = stream.use_torch_stream = use_torch_stream
