"""Imports run without garbage collection, and what they make is left out of it."""

from __future__ import annotations

import gc

from exporter.compiler.long_lived import long_lived


def test_what_is_long_lived_is_left_out_of_garbage_collection() -> None:
    before = gc.get_freeze_count()
    with long_lived():
        assert not gc.isenabled()
        made: list[object] = [[]]
    assert gc.isenabled() and gc.get_freeze_count() > before and made
