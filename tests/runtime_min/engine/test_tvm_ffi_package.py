"""The import of `tvm_ffi` leaves torch to the app, in either order and from any thread."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

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
LIBRARY = """
import json, sys
from runtime_min.engine.tvm_ffi_package import import_tvm_ffi
{before}
tvm_ffi = import_tvm_ffi(alone={alone})
parsers = "email" in sys.modules, "importlib.metadata" in sys.modules
with open("/proc/self/maps") as maps:
    libraries = {{line.split()[-1] for line in maps if "tvm_ffi" in line}}
metadata = tvm_ffi.libinfo.im
try:
    metadata.distribution("no-such-package")
except metadata.PackageNotFoundError as failure:
    missing = type(failure).__module__, str(failure)
import importlib.metadata
version = metadata.version("apache-tvm-ffi"), importlib.metadata.version("apache-tvm-ffi")
print(json.dumps([parsers, sorted(libraries), missing, version, sys.modules["importlib.metadata"].__file__]))
"""
ASKED_MEANWHILE = """
import ctypes

class Library(ctypes.CDLL):
    def __init__(self, *arguments):
        import importlib.metadata
        importlib.metadata.version("numpy")
        super().__init__(*arguments)

ctypes.CDLL = Library
"""


@cache
def told(program: str) -> Any:
    """The JSON that a program prints in a process of its own; a test may ask what another has asked."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    return json.loads(done.stdout)


def results(imports: str) -> object:
    return told(USE.format(imports=imports))


@pytest.mark.parametrize("imports", [ALONE, "import torch\n" + ALONE.split("assert")[0], IMPORTED_MEANWHILE])
def test_what_tvm_ffi_offers_for_torch_works_as_if_torch_came_first(imports: str) -> None:
    assert results(imports) == results("import torch, tvm_ffi")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lists a process's libraries in /proc")
@pytest.mark.parametrize(
    ("before", "spared"),
    [
        ("", True),
        ("import importlib.metadata", False),
        ("import importlib.util; importlib.util.find_spec = lambda name: None", False),
        (ASKED_MEANWHILE, False),
    ],
)
def test_alone_it_finds_the_same_library_without_a_parser_of_e_mails(before: str, spared: bool) -> None:
    parsers, *found = told(LIBRARY.format(before=before, alone=True))
    assert parsers == [not spared] * 2
    assert found == told(LIBRARY.format(before="", alone=False))[1:]
