"""The import of `tvm_ffi` without torch, which would take a second and 180 MB, in apps that may use torch."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any

from ..errors import InstallationError, ResourceError

_METADATA = "importlib.metadata"
_SHORTAGES = ("failed to map segment", "annot allocate memory", "Too many open files")
"""Parts of glibc's messages about a library that exists and cannot be loaded."""


def import_tvm_ffi(*, alone: bool = False) -> Any:
    """Returns the module `tvm_ffi`, which has torch if the app has imported torch before.

    Otherwise torch is imported neither now nor later by `tvm_ffi`, and what `tvm_ffi` offers for torch starts
    to work when the app imports torch. Other threads may import torch meanwhile.

    Args:
        alone: no other thread imports anything meanwhile, so that `importlib.metadata` can be left out.

    Raises:
        InstallationError: the package is not installed.
        ResourceError: there is too little memory, or no file left to open.
    """
    without_torch = {"tvm_ffi", "torch"}.isdisjoint(sys.modules)
    finder = _NoTorch()
    if without_torch:
        sys.meta_path.insert(0, finder)
    try:
        with _without_metadata() if alone else nullcontext():
            tvm_ffi: Any = importlib.import_module("tvm_ffi")
    except ImportError as failure:
        if any(shortage in str(failure) for shortage in _SHORTAGES):
            raise ResourceError("Importing apache-tvm-ffi", failure) from failure
        advice = "pip install numpy apache-tvm-ffi"
        if getattr(sys, "frozen", False):
            advice = "build the app again, with --collect-all tvm_ffi if PyInstaller builds it"
        raise InstallationError(f"The package apache-tvm-ffi is missing ({failure}): {advice}") from failure
    finally:
        if without_torch:
            sys.meta_path.remove(finder)
    if without_torch and getattr(tvm_ffi.core, "torch", tvm_ffi) is None:
        _offer_torch_later(tvm_ffi)
    return tvm_ffi


@contextmanager
def _without_metadata() -> Iterator[None]:
    """Spares `tvm_ffi` the import of `importlib.metadata`, which imports a parser of e-mails.

    `tvm_ffi` asks that module for its library, and looks into its own directory where it gets no answer.
    """
    package = importlib.util.find_spec("tvm_ffi")
    beside = package is not None and os.path.isdir(os.path.join(os.path.dirname(package.origin or ""), "lib"))
    if _METADATA in sys.modules or not beside:
        yield
        return
    metadata = _MetadataLater(_METADATA)
    sys.modules[_METADATA] = metadata
    setattr(importlib, "metadata", metadata)  # noqa: B010 (mypy refuses an assignment)
    try:
        yield
    finally:
        metadata.leave()


class _MetadataLater(ModuleType):
    """A stand-in without distributions. Any other name makes it import `importlib.metadata`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.distribution = self._no_distribution
        self.PackageNotFoundError = ModuleNotFoundError

    def leave(self) -> None:
        """Lets the next import find the module itself."""
        if sys.modules.get(_METADATA) is self:
            del sys.modules[_METADATA], importlib.metadata, self.distribution, self.PackageNotFoundError

    def _no_distribution(self, name: str) -> None:
        raise ModuleNotFoundError(name=name)

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(importlib.import_module(_METADATA), name)


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
