"""Scripts that run a bundle in a process of their own, and look at its memory, files and maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.speaking import run_alone

_PROBES = """
import gc, os, sys, threading
from runtime_min import Bundle, KokoroError

def status(field):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))

def handles():
    return len(os.listdir("/proc/self/fd"))

def mapped(path):
    return sum(path in line for line in open("/proc/self/maps"))

PATH = sys.argv[1]
"""


def run(bundle: Path, script: str, **changes: str) -> Any:
    """Returns the `result` of a script that has the functions above; `changes` are of its environment."""
    return run_alone(bundle, _PROBES + script, **changes)
