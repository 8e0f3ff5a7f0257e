"""The list of exported names that is written into a library for macOS."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exporter.native import mach_o

NAMES = st.text("_abkK", min_size=1, max_size=9)
VALUES = st.binary(min_size=1, max_size=5)


def found(tree: bytes, name: str) -> bytes | None:
    """Follows the first edge that fits, and never goes back, as macOS does."""
    at, left = 0, name.encode()
    while True:
        size, at = mach_o._number(tree, at)
        if not left:
            return tree[at : at + size] or None
        at += size
        edges, at = tree[at], at + 1
        for _ in range(edges):
            end = tree.index(0, at)
            place, after = mach_o._number(tree, end + 1)
            if left.startswith(tree[at:end]):
                at, left = place, left[end - at :]
                break
            at = after
        else:
            return None


@given(st.dictionaries(NAMES, VALUES, max_size=60), NAMES)
def test_each_name_is_found_and_no_other(exports: dict[str, bytes], other: str) -> None:
    tree = mach_o._tree(exports)
    assert dict(mach_o._exports(tree)) == exports
    assert all(found(tree, name) == value for name, value in exports.items())
    if other not in exports:
        assert found(tree, other) is None


def test_names_that_begin_alike_are_apart() -> None:
    exports = {
        "_raised": b"\0\x01",
        "_raised_from": b"\0\x02",
        "_raised_from_parts": b"\0\x03",
        "_a": b"\0\x04",
    }
    tree = mach_o._tree(exports)
    assert {name: found(tree, name) for name in exports} == exports
    assert found(tree, "_raised_") is None
