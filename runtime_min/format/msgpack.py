"""A strict reader of the part of msgpack that the manifest uses.

The types are map with string keys, array, string, integer, 64-bit float and boolean; everything else
(nil, binary, extensions, 32-bit float) is refused. So is every way of writing a value that is not the
shortest one, a key that occurs twice, NaN and infinity, and bytes after the end: one value has one
encoding. Counts and lengths are compared with the bytes that are left before memory is taken, so that a
small file cannot ask for a large allocation.

The specification is https://github.com/msgpack/msgpack/blob/master/spec.md.
"""

from __future__ import annotations

import math
import struct

from ..errors import MsgpackError

Value = dict[str, "Value"] | list["Value"] | str | int | float | bool

MAXIMUM_BYTES = 8 << 20
MAXIMUM_DEPTH = 12
MAXIMUM_ITEMS = 65_536
MAXIMUM_VALUES = 250_000
"""Values in the whole document: each costs the reader memory, however few bytes it takes."""
MAXIMUM_STRING = 4_096
MAXIMUM_KEY = 200
"""Bytes of a key of a map."""

_POSITIVE = {0xCC: (1, 0x80), 0xCD: (2, 1 << 8), 0xCE: (4, 1 << 16), 0xCF: (8, 1 << 32)}
"""Tag: width in bytes, and the smallest number that needs it."""
_NEGATIVE = {0xD0: (1, -33), 0xD1: (2, -129), 0xD2: (4, -32_769), 0xD3: (8, -2_147_483_649)}
"""Tag: width in bytes, and the largest number that needs it."""
_STRING = {0xD9: (1, 32), 0xDA: (2, 1 << 8)}
"""Tag: width of the length, and the smallest length that needs it; 4 bytes are above the limit."""
_ARRAY = {0xDC: (2, 16), 0xDD: (4, 1 << 16)}
_MAP = {0xDE: (2, 16), 0xDF: (4, 1 << 16)}


def unpack(data: bytes) -> Value:
    """Decodes one value that fills `data` from the first byte to the last.

    Raises:
        MsgpackError: `data` is not one canonical value of the subset within the limits.
    """
    if len(data) > MAXIMUM_BYTES:
        raise MsgpackError(f"The msgpack data has {len(data)} bytes and may have at most {MAXIMUM_BYTES}.")
    reader = _Reader(data)
    value = reader.value(depth=0)
    if reader.position != len(data):
        raise reader.error(f"expected the end of the data, found {len(data) - reader.position} more bytes")
    return value


class _Reader:
    """A position in the data, and one method for each kind of value."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.values = 0

    def error(self, problem: str) -> MsgpackError:
        return MsgpackError(
            f"The msgpack data is wrong at byte {self.position}: {problem}. Fetch or export the bundle again."
        )

    def take(self, count: int) -> bytes:
        left = len(self.data) - self.position
        if count > left:
            raise self.error(f"expected {count} more bytes, found {left}")
        start = self.position
        self.position += count
        return self.data[start : self.position]

    def tag(self) -> int:
        """Reads the first byte of a value, which counts."""
        self.values += 1
        if self.values > MAXIMUM_VALUES:
            raise self.error(f"expected at most {MAXIMUM_VALUES} values, found more")
        if self.position == len(self.data):
            raise self.error("expected 1 more bytes, found 0")
        self.position += 1
        return self.data[self.position - 1]

    def value(self, depth: int) -> Value:
        if depth > MAXIMUM_DEPTH:
            raise self.error(f"expected at most {MAXIMUM_DEPTH} levels of nesting, found more")
        tag = self.tag()
        if tag <= 0x7F:
            return tag
        if tag >= 0xE0:
            return tag - 0x100
        if tag <= 0x8F:
            return self.map(tag & 0x0F, depth)
        if tag <= 0x9F:
            return self.array(tag & 0x0F, depth)
        if tag <= 0xBF:
            return self.string(tag & 0x1F)
        return self.long_value(tag, depth)

    def long_value(self, tag: int, depth: int) -> Value:
        """Reads a value whose tag is a whole byte of its own."""
        if tag in (0xC2, 0xC3):
            return tag == 0xC3
        if tag == 0xCB:
            return self.float64()
        if tag in _POSITIVE or tag in _NEGATIVE:
            return self.integer(tag)
        if tag in _STRING:
            return self.string(self.count(*_STRING[tag]))
        if tag in _ARRAY:
            return self.array(self.count(*_ARRAY[tag]), depth)
        if tag in _MAP:
            return self.map(self.count(*_MAP[tag]), depth)
        expected = "a map, array, string, integer, 64-bit float or boolean"
        raise self.error(f"expected {expected}, found tag 0x{tag:02x}")

    def count(self, width: int, smallest: int) -> int:
        """Reads a length, and refuses one that a shorter form could carry."""
        found = int.from_bytes(self.take(width), "big")
        if found < smallest:
            raise self.error(f"expected the shortest form of the length {found}, found a longer one")
        return found

    def integer(self, tag: int) -> int:
        width, bound = _POSITIVE.get(tag) or _NEGATIVE[tag]
        number = int.from_bytes(self.take(width), "big", signed=tag in _NEGATIVE)
        if number > bound if tag in _NEGATIVE else number < bound:
            raise self.error(f"expected the shortest form of the integer {number}, found a longer one")
        return number

    def float64(self) -> float:
        number: float = struct.unpack(">d", self.take(8))[0]
        if not math.isfinite(number):
            raise self.error(f"expected a finite number, found {number}")
        return number

    def string(self, length: int, most: int = MAXIMUM_STRING) -> str:
        if length > most:
            raise self.error(f"expected a string of at most {most} bytes here, found {length}")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as invalid:
            raise self.error(f"expected UTF-8, found {invalid.object!r}") from None

    def key(self) -> str:
        tag = self.tag()
        if 0xA0 <= tag <= 0xBF:
            return self.string(tag & 0x1F)
        if tag in _STRING:
            return self.string(self.count(*_STRING[tag]), MAXIMUM_KEY)
        raise self.error(f"expected a string as key, found tag 0x{tag:02x}")

    def items(self, count: int, bytes_each: int) -> range:
        """Checks a number of items against the limit and against the bytes that are left."""
        if count > MAXIMUM_ITEMS:
            raise self.error(f"expected at most {MAXIMUM_ITEMS} items, found {count}")
        left = len(self.data) - self.position
        if count * bytes_each > left:
            raise self.error(f"expected {count} items, found room for {left // bytes_each}")
        return range(count)

    def array(self, count: int, depth: int) -> list[Value]:
        return [self.value(depth + 1) for _ in self.items(count, 1)]

    def map(self, count: int, depth: int) -> dict[str, Value]:
        result: dict[str, Value] = {}
        for _ in self.items(count, 2):
            key = self.key()
            if key in result:
                raise self.error(f"expected every key once, found {key!r} twice")
            result[key] = self.value(depth + 1)
        return result
