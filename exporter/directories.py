"""Directories below the user's cache that keep what need not be compiled, computed or fetched again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache() -> Path:
    """Returns the exporter's directory in the user's cache, such as ``~/.cache/kokoro-export`` on Linux."""
    # The XDG specification says that a relative path is to be ignored.
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(chosen) if os.path.isabs(chosen) else _system_cache()) / "kokoro-export"


def libraries() -> Path:
    """Returns the directory of compiled libraries."""
    return cache() / "libraries"


def runtimes() -> Path:
    """Returns the directory of TVM's runtime libraries for other machines."""
    return cache() / "runtimes"


def answers() -> Path:
    """Returns the directory of what kokoro computed for known utterances."""
    return cache() / "answers"


def _system_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
