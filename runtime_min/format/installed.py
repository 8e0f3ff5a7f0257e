"""Finds a bundle that was installed as a Python package, as `kokoro-export wheel` makes it."""

from __future__ import annotations

import os
import re
from pathlib import Path

_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
FOLDER = "bundle"
"""The directory of the package that holds the bundle."""


def module_name(name: str) -> str:
    """Returns the package of a distribution: ``kokoro_heart`` for ``kokoro-heart``.

    Raises:
        ValueError: it is no name of a distribution.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    return re.sub(r"[-_.]+", "_", name).lower()


def located(path: Path) -> Path:
    """Returns the directory of the installed bundle of a name; any other path is returned as it is.

    A file or directory of this name comes first. Nothing of the package is imported.
    """
    name = os.fspath(path)
    if not _NAME.fullmatch(name) or os.path.lexists(name):
        return path
    # Whoever loads from a directory need not wait for it.
    from importlib.util import find_spec

    try:
        spec = find_spec(module_name(name))
    except (ImportError, ValueError):
        # A module that is being imported, or has no spec, is no bundle.
        return path
    for place in (spec and spec.submodule_search_locations) or ():
        if os.path.isdir(os.path.join(place, FOLDER)):
            return Path(place, FOLDER)
    return path
