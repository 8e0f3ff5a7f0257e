"""The strict reader against the msgpack library, and everything that it refuses.

What is damaged is in `test_fuzz`."""

from __future__ import annotations

import math
import struct
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.errors import MsgpackError
from runtime_min.format.msgpack import (
    MAXIMUM_BYTES,
    MAXIMUM_DEPTH,
    MAXIMUM_ITEMS,
    MAXIMUM_KEY,
    MAXIMUM_STRING,
    unpack,
)

INTEGERS = st.integers(-(1 << 63), (1 << 64) - 1)
BOUNDARIES = st.sampled_from(
    [
        sign * (1 << bits) + near
        for bits in (5, 7, 8, 15, 16, 31, 32)
        for sign in (1, -1)
        for near in (-1, 0, 1)
    ]
)
TEXTS = st.text(max_size=40) | st.integers(30, 300).map(lambda length: "x" * length)
KEYS = TEXTS.filter(lambda key: len(key.encode()) <= MAXIMUM_KEY)
SCALARS = INTEGERS | BOUNDARIES | st.booleans() | TEXTS | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(KEYS, inner, max_size=20),
    max_leaves=30,
)


def bits(value: Any) -> Any:
    """A value that distinguishes 1 from 1.0 and from True, and 0.0 from -0.0, when compared."""
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bits(item) for item in value]
    return type(value), struct.pack(">d", value) if isinstance(value, float) else value


@given(VALUES)
def test_what_the_library_writes_is_read_back_as_it_was(value: Any) -> None:
    assert bits(unpack(msgpack.packb(value))) == bits(value)


@given(VALUES, st.binary(min_size=1, max_size=8))
def test_bytes_after_the_end_are_refused(value: Any, rest: bytes) -> None:
    with pytest.raises(MsgpackError, match="expected the end of the data"):
        unpack(msgpack.packb(value) + rest)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    with pytest.raises(MsgpackError, match="finite"):
        unpack(msgpack.packb([number]))


@pytest.mark.parametrize(
    "value",
    [None, b"bytes", msgpack.ExtType(5, b"x"), msgpack.Timestamp(1)],
    ids=["nil", "binary", "extension", "timestamp"],
)
def test_types_that_the_format_does_not_use_are_refused(value: Any) -> None:
    with pytest.raises(MsgpackError, match="found tag"):
        unpack(msgpack.packb(value))


@pytest.mark.parametrize("tag", range(256))
def test_no_tag_alone_escapes_the_typed_error(tag: int) -> None:
    if 0x00 <= tag <= 0x80 or tag in (0x90, 0xA0, 0xC2, 0xC3) or tag >= 0xE0:
        assert bits(unpack(bytes([tag]))) == bits(msgpack.unpackb(bytes([tag])))
    else:
        with pytest.raises(MsgpackError):
            unpack(bytes([tag]))


@pytest.mark.parametrize(
    "packed",
    [
        b"\xcc\x7f",
        b"\xcd\x00\xff",
        b"\xce\x00\x00\xff\xff",
        b"\xcf\x00\x00\x00\x00\xff\xff\xff\xff",
        b"\xd0\xe0",
        b"\xd0\x05",
        b"\xd1\xff\x80",
        b"\xd2\xff\xff\x80\x00",
        b"\xd3\xff\xff\xff\xff\x80\x00\x00\x00",
        b"\xd9\x01a",
        b"\xda\x00\x20" + b"a" * 32,
        b"\xdc\x00\x01\x00",
        b"\xdd\x00\x00\x00\x01\x00",
        b"\xde\x00\x01\xa1a\x00",
        b"\xdf\x00\x00\x00\x01\xa1a\x00",
    ],
    ids=lambda packed: packed[:3].hex(),
)
def test_longer_forms_than_needed_are_refused(packed: bytes) -> None:
    # The library accepts all of them.
    msgpack.unpackb(packed)
    with pytest.raises(MsgpackError, match="shortest form"):
        unpack(packed)


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(MsgpackError, match="'a' twice"):
        unpack(b"\x82\xa1a\x01\xa1a\x02")


@pytest.mark.parametrize("key", [1, True, 1.5, [1]])
def test_keys_other_than_strings_are_refused(key: Any) -> None:
    with pytest.raises(MsgpackError, match="string as key"):
        unpack(b"\x81" + msgpack.packb(key) + b"\x01")


@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_invalid_utf8_is_refused(text: bytes) -> None:
    with pytest.raises(MsgpackError, match="UTF-8"):
        unpack(bytes([0xA0 + len(text)]) + text)


def test_nesting_is_bounded() -> None:
    unpack(b"\x91" * MAXIMUM_DEPTH + b"\x01")
    with pytest.raises(MsgpackError, match="levels of nesting"):
        unpack(b"\x91" * (MAXIMUM_DEPTH + 1) + b"\x01")
    with pytest.raises(MsgpackError, match="levels of nesting"):
        unpack(b"\x91" * 1_000_000)


@pytest.mark.parametrize(
    ("largest", "larger", "message"),
    [
        ([1] * MAXIMUM_ITEMS, [1] * (MAXIMUM_ITEMS + 1), f"at most {MAXIMUM_ITEMS} items"),
        ("x" * MAXIMUM_STRING, "x" * (MAXIMUM_STRING + 1), "string of at most"),
        (
            {"x" * MAXIMUM_KEY: 1},
            {"x" * (MAXIMUM_KEY + 1): 1},
            f"at most {MAXIMUM_KEY} bytes here, found {MAXIMUM_KEY + 1}",
        ),
        ([[{}] * 60_000] * 4, [[{}] * 60_000] * 100, "values"),
    ],
    ids=["items", "string", "key", "values"],
)
def test_sizes_are_bounded(largest: Any, larger: Any, message: str) -> None:
    assert unpack(msgpack.packb(largest)) == largest
    with pytest.raises(MsgpackError, match=message):
        unpack(msgpack.packb(larger))


def test_the_size_of_the_data_is_bounded() -> None:
    with pytest.raises(MsgpackError, match="bytes and may have at most"):
        unpack(bytes(MAXIMUM_BYTES + 1))
