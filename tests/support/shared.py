"""What one process of the tests makes and all of them use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from exporter.bundle.write import BundleContents, write_bundle

if TYPE_CHECKING:
    import pytest


def filled_once(place: Path, fill: Callable[[Path], object]) -> Path:
    """Returns `place`, a directory that the first process fills while the others wait.

    Args:
        place: the directory, whose name has no dot.
        fill: fills an empty directory, which may be moved then. Where it fails, nothing is left.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_suffix(".lock")):
        if not place.exists():
            unfinished = place.with_suffix(".unfinished")
            # A killed process leaves it.
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            try:
                fill(unfinished)
                unfinished.rename(place)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return place


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Returns a directory of this run of the tests that is `filled_once`, and never written to again.

    Args:
        factory: pytest's directories.
        name: name of the directory, one for all tests.
        make: fills the directory.
    """
    own = factory.getbasetemp()
    return filled_once((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name, make)


def bundle_made_once(
    factory: pytest.TempPathFactory, name: str, contents: Callable[[Path], BundleContents]
) -> Path:
    """Returns a bundle that is `made_once`; contents may have files in the directory they are given."""
    return made_once(factory, name, lambda place: write_bundle(place / "bundle", contents(place))) / "bundle"
