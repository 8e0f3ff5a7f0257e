"""Typed access to decoded msgpack: errors name the place, the expected and the found value.

A named tuple's annotations are its schema; `reader_of` makes a reader from them:

    file: RelativePath                                  a string or number, with a rule for its value
    shape: Annotated[tuple[Size, ...], array(0, 8)]     an array, with a rule for the number of elements
    tools: Mapping[str, Text]                           a map whose keys are names
    level: CpuLevel                                     a map with exactly the fields of a named tuple
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ..errors import ManifestError
from .msgpack import Value

_PATH_PART = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9._-]*[A-Za-z0-9_-])?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
"""Names of devices on Windows, whatever their suffix."""
_MAXIMUM_PATH = 200
_MAXIMUM_PARTS = 8


class Node:
    """A value of the manifest together with the path that leads to it."""

    def __init__(self, value: Value, path: str) -> None:
        """Takes a decoded value and its place, such as ``stages[0].name``."""
        self.value = value
        self.path = path

    def error(self, expected: str) -> ManifestError:
        """Returns the error for this value in place of the `expected` one."""
        return ManifestError(self.path or "top level", expected, self.value)

    def fields(self, *names: str) -> tuple[Node, ...]:
        """Returns the values under `names`; the map must have exactly these keys."""
        entries = self._map()
        if entries.keys() != {*names}:
            missing = [name for name in names if name not in entries]
            unknown = [name for name in entries if name not in names]
            raise ManifestError(
                self.path or "top level",
                f"exactly the keys {', '.join(names)}",
                f"missing {missing}, unknown {unknown}",
            )
        prefix = f"{self.path}." if self.path else ""
        return tuple([Node(entries[name], prefix + name) for name in names])

    def child(self, name: str) -> Node:
        """Returns the value under the key `name`."""
        entries = self._map()
        if name not in entries:
            raise ManifestError(self.path or "top level", f"the key {name!r}", list(entries))
        return Node(entries[name], f"{self.path}.{name}" if self.path else name)

    def entries(self) -> list[tuple[str, Node]]:
        """Returns key and value of a map whose keys are data."""
        return [(key, Node(value, f"{self.path}[{key!r}]")) for key, value in self._map().items()]

    def named(self) -> list[tuple[str, Node]]:
        """Returns key and value of a map whose keys are names, to be shown to people."""
        for key in self._map():
            Node(key, f"{self.path}[{key!r}]").text()
        return self.entries()

    def elements(self, at_least: int = 0, at_most: int = 65_536) -> list[Node]:
        """Returns the elements of an array."""
        if not isinstance(self.value, list) or not at_least <= len(self.value) <= at_most:
            raise self.error(f"an array of {at_least} to {at_most} elements")
        return [Node(value, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def text(self, at_least: int = 1, at_most: int = 200) -> str:
        """Returns a string with a bounded number of characters, which no terminal takes for a command."""
        if not isinstance(self.value, str) or not at_least <= len(self.value) <= at_most:
            raise self.error(f"a string of {at_least} to {at_most} characters")
        if not self.value.isprintable():
            raise self.error("a string of printable characters")
        return self.value

    def one_of(self, choices: Collection[str]) -> str:
        """Returns a string that is among `choices`."""
        if not isinstance(self.value, str) or self.value not in choices:
            raise self.error(f"one of {', '.join(choices)}")
        return self.value

    def digest(self) -> str:
        """Returns a SHA-256 digest in lower-case hexadecimal."""
        if not isinstance(self.value, str) or not _DIGEST.fullmatch(self.value):
            raise self.error("64 lower-case hexadecimal digits")
        return self.value

    def integer(self, lowest: int, highest: int) -> int:
        """Returns an integer within bounds, both included."""
        # bool is a subclass of int in Python but another type in msgpack.
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.error("an integer")
        if not lowest <= self.value <= highest:
            raise self.error(f"an integer from {lowest} to {highest}")
        return self.value

    def boolean(self) -> bool:
        """Returns a boolean."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def number(self) -> float:
        """Returns a floating-point number; msgpack has checked that it is finite."""
        if not isinstance(self.value, float):
            raise self.error("a floating-point number")
        return self.value

    def scalar(self) -> str | int | float | bool:
        """Returns a printable string, a number or a boolean."""
        if isinstance(self.value, (dict, list)):
            raise self.error("a string, a number or a boolean")
        return self.text(0, 1_000) if isinstance(self.value, str) else self.value

    def relative_path(self) -> str:
        """Returns a path that cannot leave its directory on any operating system."""
        path = self.text(at_most=_MAXIMUM_PATH)
        parts = path.split("/")
        if len(parts) > _MAXIMUM_PARTS:
            raise self.error(f"a path of at most {_MAXIMUM_PARTS} parts")
        for part in parts:
            if not _PATH_PART.fullmatch(part) or part.split(".")[0].lower() in _RESERVED:
                raise self.error("a relative path of letters, digits, '.', '_', '-', joined by '/'")
        return path

    def _map(self) -> dict[str, Value]:
        if not isinstance(self.value, dict):
            raise self.error("a map")
        return self.value


Reader = Callable[[Node], Any]
"""Returns a node's value, checked, or raises `ManifestError`."""


def integer(lowest: int, highest: int) -> Reader:
    """Returns the rule of an integer within bounds, both included."""
    return lambda node: node.integer(lowest, highest)


def one_of(choices: Collection[str]) -> Reader:
    """Returns the rule of a string that is among `choices`."""
    return lambda node: node.one_of(choices)


def array(at_least: int, at_most: int) -> Callable[[Node], list[Node]]:
    """Returns the rule of an array with a bounded number of elements."""
    return lambda node: node.elements(at_least, at_most)


Text = Annotated[str, Node.text]
Digest = Annotated[str, Node.digest]
RelativePath = Annotated[str, Node.relative_path]
Length = Annotated[int, integer(1, 1 << 16)]
Offset = Annotated[int, integer(0, (1 << 63) - 1)]


def reader_of(kind: Any) -> Reader:
    """Returns a reader of values of the type `kind`, as the module's description shows them."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is bool:
        return Node.boolean
    if origin is Annotated and get_origin(arguments[0]) is tuple:
        element, elements = reader_of(get_args(arguments[0])[0]), arguments[1]
        return lambda node: tuple([element(each) for each in elements(node)])
    if origin is Annotated:
        rule: Reader = arguments[1]
        return rule
    if origin is Mapping:
        value = reader_of(arguments[1])
        return lambda node: {key: value(each) for key, each in node.named()}
    readers = field_readers(kind)
    return lambda node: kind(
        *[read(each) for read, each in zip(readers.values(), node.fields(*readers), strict=True)]
    )


@cache
def field_readers(kind: type) -> dict[str, Reader]:
    """Returns a reader for each field of a named tuple.

    Every evaluation of an annotation makes new rules, so the annotations of a class are evaluated once.
    """
    return {name: reader_of(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}
