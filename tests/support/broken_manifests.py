"""Changes that break a manifest."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgpack

Change = Callable[[dict[str, Any]], object]
"""Of a manifest that msgpack has read, in place."""


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
