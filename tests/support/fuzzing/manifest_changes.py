"""Makes attacks on a bundle, and measures them."""

from __future__ import annotations

import copy
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack

MOST_MEMORY = 64 << 20
MOST_SECONDS = 1.0


@contextmanager
def bounded(memory: int = MOST_MEMORY) -> Iterator[None]:
    """Asserts that its block takes less than a second of the processor and less than `memory` bytes."""
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()
    # Tracing makes Python several times slower.
    assert time.process_time() - started < 10 * MOST_SECONDS


def manifest_of_sound(sound: Path) -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb((sound / "manifest.msgpack").read_bytes())
    return decoded


Change = Callable[[dict[str, Any]], object]
"""A function that changes a manifest as msgpack has read it, in place."""


def changed(raw: dict[str, Any], change: Change) -> bytes:
    entries = copy.deepcopy(raw)
    change(entries)
    data: bytes = msgpack.packb(entries)
    return data


def assign(*path_and_value: Any) -> Change:
    """A change that sets the value at a path of keys and indices."""
    *path, last, value = path_and_value

    def change(entries: Any) -> None:
        for key in path:
            entries = entries[key]
        entries[last] = value

    return change
