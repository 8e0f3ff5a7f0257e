"""Collects what `runtime_min` imports by name when it is first needed, and the library of `tvm_ffi`."""

from PyInstaller.utils.hooks import collect_dynamic_libs, collect_submodules


def _wanted(module: str) -> bool:
    return not module.startswith(("runtime_min.adapters", "runtime_min.__pyinstaller"))


hiddenimports = [*collect_submodules("runtime_min", filter=_wanted), "tvm_ffi"]
binaries = collect_dynamic_libs("tvm_ffi", search_patterns=["libtvm_ffi.*", "tvm_ffi.dll"])
# `tvm_ffi` and the adapters offer something for these; an app that uses them imports them itself.
excludedimports = ["torch", "kokoro", "kokoro_onnx", "misaki", "phonemizer", "soundfile", "spacy"]
