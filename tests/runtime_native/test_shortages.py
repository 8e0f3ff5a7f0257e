"""Too little memory for threads of the native runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from exporter.native import build
from tests.support.tiny.runtime_alone import environment

_PROGRAM = """
import ctypes, sys, time
library, bundle = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
assert library.kokoro_load(sys.argv[2].encode(), None, ctypes.byref(bundle)) == 0
refuse = ctypes.CDLL(None).refuse_the_loader
refuse(1)
time.sleep(0.25)
refuse(0)
library.kokoro_free(bundle)
"""


def test_threads_have_all_memory_of_their_own_once_a_bundle_is_loaded(
    native: Path, speaking_bundle: Path, late_threads: Path
) -> None:
    """The C library allocates it for a thread at its first use, and the process ends if that fails."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, native / build.LIBRARY, speaking_bundle],
        env=environment(LD_PRELOAD=str(late_threads), LATE=build.LIBRARY, TVM_NUM_THREADS="3"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
