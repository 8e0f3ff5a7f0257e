"""What one process of the tests makes and all of them use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Returns a directory that the first process fills while the others wait; it is never written to again.

    Args:
        factory: pytest's directories.
        name: name of the directory, one for all tests.
        make: fills an empty directory, which may be moved then.
    """
    own = factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with FileLock(place.with_suffix(".lock")):
        if not place.exists():
            unfinished = place.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(place)
    return place
