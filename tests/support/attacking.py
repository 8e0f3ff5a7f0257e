"""How attacks on a bundle are made and measured."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack

MOST_MEMORY = 64 << 20
MOST_SECONDS = 1.0


@contextmanager
def bounded(memory: int = MOST_MEMORY) -> Iterator[None]:
    """What is done within takes less than a second of the processor and less than `memory` bytes."""
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
