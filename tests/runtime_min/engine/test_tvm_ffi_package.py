"""The import of `tvm_ffi` leaves torch to the app, in either order and from any thread."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

DTYPES = ("bool", "uint8", "int8", "int16", "int64", "float16", "bfloat16", "float32", "float4_e2m1fn_x2")
USE = f"""
import json, sys
{{imports}}
function = tvm_ffi.convert(lambda tensor: str(tensor.dtype))
print(json.dumps([
    [str(tvm_ffi.convert(getattr(torch, name))) for name in {DTYPES}],
    type(tvm_ffi.use_torch_stream()).__name__,
    type(tvm_ffi.use_torch_stream()).__name__,
    tvm_ffi.from_dlpack(torch.ones(3)).shape[0],
    function(torch.ones(2)),
]))
"""
ALONE = """
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
finders = list(sys.meta_path)
tvm_ffi = import_tvm_ffi()
assert sys.meta_path == finders
assert "torch" not in sys.modules
assert import_tvm_ffi() is tvm_ffi
tvm_ffi.convert(object())
import torch
"""
IMPORTED_MEANWHILE = """
import ctypes, threading
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi

class Library(ctypes.CDLL):
    def __init__(self, *arguments):
        ctypes.CDLL = library
        thread = threading.Thread(target=__import__, args=("torch",), daemon=True)
        thread.start()
        thread.join()
        super().__init__(*arguments)

library, ctypes.CDLL = ctypes.CDLL, Library
tvm_ffi = import_tvm_ffi()
torch = sys.modules["torch"]
"""


def results(imports: str) -> object:
    script = USE.format(imports=imports)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("imports", [ALONE, "import torch\n" + ALONE.split("assert")[0], IMPORTED_MEANWHILE])
def test_what_tvm_ffi_offers_for_torch_works_as_if_torch_came_first(imports: str) -> None:
    assert results(imports) == results("import torch, tvm_ffi")
