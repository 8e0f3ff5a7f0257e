"""Obstacles of a process that loads and runs a compiled library."""

import os
import platform
import subprocess
import sys

import torch

from tests.support.gpu.stand_in import runtime_library
from tests.upstream.reproduction import SHORT, X86_V3, built, imported, source

THREADS = """
import ctypes, sys
sys.modules["torch"] = None
import tvm_ffi
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
count, configure = map(tvm_ffi.get_global_func, ("runtime.NumThreads", "runtime.config_threadpool"))
counts = [count()]
for wanted in (64, 1):
    configure(1, wanted)
    counts.append(count())
print(*counts)
"""


def _python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TVM_NUM_THREADS", "OMP_NUM_THREADS")
    }
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=inherited | environment, timeout=60)


def _thread_counts(**environment: str) -> list[int]:
    result = _python(THREADS, str(runtime_library()), **environment)
    assert result.returncode == 0, result.stderr
    return [int(word) for word in result.stdout.split()]


def test_generated_code_still_assumes_64_byte_alignment() -> None:
    code = source(built(imported(torch.sin, (SHORT,)), X86_V3), "ll")
    assert "align 64" in code, "works now: remove require_alignment=64"


def test_the_pool_still_takes_half_of_the_processors_of_x86_by_default() -> None:
    available = len(os.sched_getaffinity(0))
    expected = max(1, available // 2) if platform.machine() in ("x86_64", "AMD64") else available
    assert _thread_counts()[0] == expected, "works now: TVM_NUM_THREADS may stay unset"


def test_the_pool_still_cannot_grow_beyond_what_the_environment_said() -> None:
    assert _thread_counts(TVM_NUM_THREADS="2") == [2, 2, 1], "works now: set threads with config_threadpool"


def test_importing_tvm_ffi_still_imports_torch_unless_it_is_hidden() -> None:
    seen = _python("import sys, tvm_ffi; print('torch' in sys.modules)")
    assert seen.stdout.strip() == "True", "works now: remove the hiding of torch"
    hidden = _python(
        "import sys; sys.modules['torch'] = None; import tvm_ffi; del sys.modules['torch']; "
        "print('torch' in sys.modules); import torch; print(torch.ones(2).sum().item())"
    )
    assert hidden.stdout.split() == ["False", "2.0"], hidden.stderr
