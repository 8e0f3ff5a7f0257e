"""Compares the native runtime with the Python runtime on an emulated machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def answers(root: str, bundle: str, library: str) -> Callable[[Any], None]:
    """Returns a function that calls the methods of `BothRuntimes`, of the sources at `root`."""
    sys.path.insert(0, root)
    from runtime_min import Bundle
    from tests.support.native.both_runtimes import BothRuntimes
    from tests.support.native.library import NativeLibrary

    loaded = NativeLibrary(Path(library))
    both = BothRuntimes(loaded, loaded.load(Path(bundle)), Bundle.load(bundle))

    def answer(question: Any) -> None:
        method, phonemes, options = question
        getattr(both, method)(phonemes=phonemes, **options)

    return answer
