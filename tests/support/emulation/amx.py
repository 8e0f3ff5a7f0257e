"""Intel's matrix unit AMX, emulated by `amx.c` where the processor has none.

The emulator handles SIGILL. It must be the last that does: Python's faulthandler takes the signal as well.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from exporter import directories
from exporter.compiler.link import find_linker
from exporter.compiler.targets import find_target
from runtime_min.engine import machine
from runtime_min.engine.machine import this_machine
from tests.support.shared import filled_once

_SOURCE = Path(__file__).with_suffix(".c")
_OPTIONS = ("-O2", "-Wall", "-shared", "-fPIC")


def processor_has_amx() -> bool:
    """Returns whether this process may use a unit of the processor's, so that nothing is emulated.

    If Linux refuses one that is there, its instructions raise SIGILL as unknown ones do.
    """
    return "amx_bf16" in this_machine().features and machine._tiles_are_permitted()


def can_run() -> bool:
    """Returns whether tiles can be used here: on Linux, by the processor or emulated in AVX-512."""
    here = this_machine()
    return find_target("linux-x86_64").fits(here) and "avx512f" in here.features


@cache
def library() -> Path:
    """Returns the emulator as a shared library, compiled once."""
    command = [*find_linker(find_target("host")), *_OPTIONS]
    recipe = hashlib.sha256(b"\0".join([_SOURCE.read_bytes(), *map(str.encode, command)])).hexdigest()[:16]

    def compile_into(place: Path) -> None:
        done = subprocess.run(
            [*command, _SOURCE, "-o", place / "libamx.so"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    return filled_once(directories.cache() / f"emulated-amx-{recipe}", compile_into) / "libamx.so"


@cache
def install() -> None:
    """Lets this process use tiles, of the processor or emulated, on all of its threads."""
    if not processor_has_amx():
        request = machine._ARCH_PRCTL, machine._ASK_FOR_STATE, machine._TILE_DATA
        refused = ctypes.CDLL(str(library()), use_errno=True).syscall(*request)
        assert refused == 0, os.strerror(ctypes.get_errno())


def environment(permission: str = "granted") -> dict[str, str]:
    """Returns the variables of a child process that has the unit, for which it asks Linux itself.

    Args:
        permission: the answer: ``granted``, or ``refused`` where the unit is emulated.
    """
    if processor_has_amx():
        return {}
    return {"LD_PRELOAD": str(library()), "AMX_EMULATED_PERMISSION": permission}
