"""Keeps names inside a library for Apple's systems, as a list of exported names does for other systems.

zig's linker takes no such list. It shows operators new and delete and the functions of stages, and it asks
the system for the first definition in the process of each weak symbol, such as the tables of C++'s streams,
even of hidden ones. The system's own C++ library has these names, in other versions, and is in nearly every
process: the two must not be mixed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

_HEADER = struct.Struct("<8I")
_DYLD_INFO = struct.Struct("<12I")
_LC_DYLD_INFO_ONLY, _LC_CODE_SIGNATURE = 0x80000022, 0x1D
_MH_WEAK_DEFINES, _MH_BINDS_TO_WEAK = 0x8000, 0x10000
_WEAK_BIND, _EXPORTS = 6, 10
"""Indices of the offset of each part in the command, before its size."""
_SUPER_BLOB, _CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02


def keep_names_inside(path: Path, shown: Collection[str]) -> None:
    """Rewrites a library of one processor that zig has linked, and signed for macOS.

    Args:
        path: the library.
        shown: functions that stay exported, by their names in C.
    """
    content = bytearray(path.read_bytes())
    commands = dict(_commands(content))
    at = commands[_LC_DYLD_INFO_ONLY]
    info = list(_DYLD_INFO.unpack_from(content, at))
    _clear(content, info[_WEAK_BIND], info[_WEAK_BIND + 1])
    start, size = info[_EXPORTS], info[_EXPORTS + 1]
    found = _exports(bytes(content[start : start + size]))
    exports = {name: value for name, value in found if name[1:] in shown}
    tree = _tree(exports)
    _clear(content, start, size)
    content[start : start + len(tree)] = tree
    info[_WEAK_BIND : _WEAK_BIND + 2] = (0, 0)
    info[_EXPORTS + 1] = len(tree)
    _DYLD_INFO.pack_into(content, at, *info)
    (flags,) = struct.unpack_from("<I", content, 24)
    struct.pack_into("<I", content, 24, flags & ~(_MH_WEAK_DEFINES | _MH_BINDS_TO_WEAK))
    # An app signs what it has for iOS.
    if signature := commands.get(_LC_CODE_SIGNATURE):
        _sign(content, struct.unpack_from("<I", content, signature + 8)[0])
    path.write_bytes(content)


def _commands(content: bytearray) -> Iterator[tuple[int, int]]:
    """Yields the kind and place of each load command."""
    at = _HEADER.size
    for _ in range(_HEADER.unpack_from(content)[4]):
        kind, size = struct.unpack_from("<2I", content, at)
        yield kind, at
        at += size


def _clear(content: bytearray, start: int, size: int) -> None:
    content[start : start + size] = bytes(size)


def _exports(tree: bytes, at: int = 0, before: bytes = b"") -> Iterator[tuple[str, bytes]]:
    """Yields each name of a tree with what follows it: its flags and address."""
    size, at = _number(tree, at)
    if size:
        yield before.decode(), tree[at : at + size]
    at += size
    count, at = tree[at], at + 1
    for _ in range(count):
        end = tree.index(0, at)
        place, after = _number(tree, end + 1)
        yield from _exports(tree, place, before + tree[at:end])
        at = after


def _tree(exports: Mapping[str, bytes]) -> bytes:
    """Returns the tree of names: a root, and below it a node for each.

    The first edge that fits is taken, so that a name comes before the names that it begins with.
    """
    names = sorted(exports, reverse=True)
    leaves = {name: _as_number(len(exports[name])) + exports[name] + b"\0" for name in names}
    # The root's length depends on the places of the nodes, which depend on it.
    length = 0
    while True:
        root, place = bytearray((0, len(names))), length
        for name in names:
            root += name.encode() + b"\0" + _as_number(place)
            place += len(leaves[name])
        if len(root) == length:
            return bytes(root) + b"".join(leaves[name] for name in names)
        length = len(root)


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Returns a number of 7 bits in each byte, and the place behind it."""
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _as_number(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))


def _sign(content: bytearray, signature: int) -> None:
    """Writes the digests of all pages into the ad-hoc signature."""
    magic, _, count = struct.unpack_from(">3I", content, signature)
    blobs = [signature + struct.unpack_from(">2I", content, signature + 12 + 8 * i)[1] for i in range(count)]
    (start,) = (each for each in blobs if struct.unpack_from(">I", content, each)[0] == _CODE_DIRECTORY)
    hashes, _, _, pages, limit = struct.unpack_from(">5I", content, start + 16)
    size, kind, _, shift = struct.unpack_from(">4B", content, start + 36)
    if (magic, size, kind) != (_SUPER_BLOB, hashlib.sha256().digest_size, 2):
        raise ValueError("zig has signed in another way")
    for page in range(pages):
        data = content[page << shift : min((page + 1) << shift, limit)]
        place = start + hashes + size * page
        content[place : place + size] = hashlib.sha256(data).digest()
