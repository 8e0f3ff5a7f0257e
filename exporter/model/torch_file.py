"""Reads the tensors in a file of ``torch.save`` without running anything that the file names.

Such a file is a zip archive without compression. Its entry ``data.pkl`` is a pickle that describes tensors,
and each entry ``data/KEY`` has the numbers of one storage. `torch.load` calls the constructors that the
pickle names, and some of them take any amount of memory, or end the process. This module only interprets the
pickle, so names, types and shapes can be compared before any numbers are read.
"""

from __future__ import annotations

import io
import pickletools
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from exporter.errors import ExportError

# Kokoro's 688 tensors need a tenth of it, in the pickle and in the archive's directory.
_MOST_DESCRIPTION = 1 << 20
_MOST_DIMENSIONS = 8
_MOST_NUMBER = 1 << 62
_DTYPES = {
    "torch DoubleStorage": torch.float64,
    "torch FloatStorage": torch.float32,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
    "torch ShortStorage": torch.int16,
    "torch CharStorage": torch.int8,
    "torch ByteStorage": torch.uint8,
    "torch BoolStorage": torch.bool,
    "torch ComplexFloatStorage": torch.complex64,
    "torch ComplexDoubleStorage": torch.complex128,
}
_DICT = "collections OrderedDict"
_TENSOR = "torch._utils _rebuild_tensor_v2"
_PARAMETER = "torch._utils _rebuild_parameter"
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
# Errors of zipfile for a damaged archive, also for names in another encoding and impossible offsets.
_DAMAGED = (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, ValueError, OSError)


class TorchFileError(ExportError):
    """A file is not one of ``torch.save``, is damaged, or has other contents than dense tensors."""

    exit_code = 3


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as the file describes it."""

    key: str
    """Name of its storage, which several tensors may share."""
    dtype: torch.dtype
    count: int
    """Numbers in the storage."""
    offset: int = 0
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def storage(self) -> tuple[str, str, int]:
        """Name, type and size of the storage, to sort by."""
        return self.key, str(self.dtype), self.count

    @property
    def reach(self) -> int:
        """Numbers of the storage up to the last one of the tensor."""
        if 0 in self.shape:
            return 0
        return self.offset + 1 + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))


class TorchFile:
    """An open file, for use in a ``with`` statement."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        """Opens a file and reads its description.

        Args:
            path: a regular file.
            most_bytes: size above which nothing is read.

        Raises:
            OSError: the file cannot be read.
            TorchFileError: it is larger, or not a file of ``torch.save``.
        """
        size = path.stat().st_size
        if size > most_bytes:
            raise TorchFileError(f"it has {size:,} bytes, expected at most {most_bytes:,}")
        self._file = _BoundedFile(path)
        try:
            self._archive, self._entries = _open_archive(self._file, size)
            if "byteorder" in self._entries and self._read("byteorder", 6) != b"little":
                raise TorchFileError("its numbers are not little-endian")
            self.content = _interpret(self._read("data.pkl", _MOST_DESCRIPTION))
            """Nested dicts, lists, tuples and numbers, with a `StoredTensor` for each tensor."""
        except BaseException:
            self.close()
            raise

    def read(self, tensors: Mapping[str, StoredTensor]) -> Iterator[tuple[str, torch.Tensor]]:
        """Yields tensors by name; each storage is read once.

        Raises:
            TorchFileError: a storage is missing, damaged or too short.
        """
        last, values = None, torch.empty(0)
        for name, tensor in sorted(tensors.items(), key=lambda item: item[1].storage):
            if tensor.reach > tensor.count:
                raise TorchFileError(f"its tensor {name} is larger than its storage")
            if tensor.storage != last:
                last, values = tensor.storage, self._storage(tensor)
            yield name, values.as_strided(tensor.shape, tensor.strides, tensor.offset)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> TorchFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _storage(self, tensor: StoredTensor) -> torch.Tensor:
        expected = tensor.count * tensor.dtype.itemsize
        data = self._read(f"data/{tensor.key}", expected)
        if len(data) != expected:
            raise TorchFileError(f"its entry data/{tensor.key} has {len(data)} bytes, expected {expected}")
        if not data:  # torch.frombuffer refuses it.
            return torch.empty(0, dtype=tensor.dtype)
        return torch.frombuffer(bytearray(data), dtype=tensor.dtype)

    def _read(self, name: str, most_bytes: int) -> bytes:
        entry = self._entries.get(name)
        if entry is None or entry.file_size > most_bytes:
            found = "nothing" if entry is None else f"{entry.file_size:,} bytes"
            raise TorchFileError(f"expected an entry {name} of at most {most_bytes:,} bytes, found {found}")
        try:
            return self._archive.read(entry)
        except _DAMAGED as error:
            raise TorchFileError(f"its entry {name} is damaged: {error!s:.200}") from error


class _BoundedFile(io.FileIO):
    """A file of which at most `most` bytes are read at a time; zipfile reads the whole directory at once."""

    most = _MOST_DESCRIPTION

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.most if size is None or size < 0 else min(size, self.most)) or b""


def _open_archive(file: _BoundedFile, size: int) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """Returns an archive and its entries by their names below its only folder."""
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGED as error:
        raise TorchFileError(f"expected an archive of torch 1.6 or later: {error!s:.200}") from error
    infos = archive.infolist()
    folder = infos[0].filename.partition("/")[0] + "/" if infos else ""
    entries = {info.filename.removeprefix(folder): info for info in infos}
    # torch ignores case when it looks for an entry.
    if len({info.filename.lower() for info in infos}) != len(infos):
        raise TorchFileError("two of its entries have one name")
    if not all(info.filename.startswith(folder) for info in infos):
        raise TorchFileError("its entries lie in several folders")
    if any(
        info.compress_type or info.flag_bits & 1 or info.compress_size != info.file_size for info in infos
    ):
        raise TorchFileError("its entries are compressed or encrypted")
    if sum(info.file_size for info in infos) > size:
        raise TorchFileError("its entries overlap")
    file.most = size
    return archive, entries


def _interpret(data: bytes) -> Any:
    """Returns the value that a pickle of protocol 2 describes."""
    interpreter = _Interpreter()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return interpreter.take(1)[0]
            interpreter.run(opcode.name, argument)
    except ValueError as error:
        raise TorchFileError(f"its pickle is damaged: {_cut(error)}") from error
    raise TorchFileError("its pickle has no end")


class _Interpreter:
    """The stack, marks and memo of a pickle; https://docs.python.org/3/library/pickletools.html."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def take(self, count: int) -> list[Any]:
        """Takes values from the top of the stack."""
        if len(self.stack) < count:
            raise TorchFileError("its pickle is damaged: the stack is empty")
        start = len(self.stack) - count
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def take_marked(self) -> list[Any]:
        """Takes the values since the last mark."""
        if not self.marks:
            raise TorchFileError("its pickle is damaged: a mark is missing")
        return self.take(max(0, len(self.stack) - self.marks.pop()))

    def run(self, name: str, argument: Any) -> None:
        match name:
            case "PROTO":
                pass
            case "MARK":
                self.marks.append(len(self.stack))
            case "BINPUT" | "LONG_BINPUT":
                (self.memo[argument],) = self.stack[-1:] or self.take(1)
            case "SETITEM" | "SETITEMS" | "APPEND" | "APPENDS" | "BUILD":
                self._fill(name)
            case _:
                self.stack.append(self._value(name, argument))

    def _value(self, name: str, argument: Any) -> Any:
        match name:
            case "BINGET" | "LONG_BINGET" if argument in self.memo:
                return self.memo[argument]
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                return argument
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                return _CONSTANTS[name]
            case "EMPTY_DICT":
                return {}
            case "EMPTY_LIST":
                return []
            case "EMPTY_TUPLE":
                return ()
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                return tuple(self.take(int(name[-1])))
            case "TUPLE":
                return tuple(self.take_marked())
            case "GLOBAL" if argument in (*_DTYPES, _DICT, _TENSOR, _PARAMETER):
                return _Global(argument)
            case "BINPERSID":
                return _storage(*self.take(1))
            case "REDUCE":
                return _call(*self.take(2))
            case "GLOBAL":
                raise TorchFileError(
                    f"it names {_cut(argument.replace(' ', '.'))}, and loading it would run code"
                )
        raise TorchFileError(f"its pickle has {name} {_cut(argument)}, which torch.save does not write there")

    def _fill(self, opcode: str) -> None:
        """Puts values into the dict or list below them."""
        values = self.take_marked() if opcode.endswith("S") else self.take(2 if opcode == "SETITEM" else 1)
        (target,) = self.stack[-1:] or self.take(1)
        if opcode == "BUILD" and isinstance(target, dict):
            return  # Attributes of a state dict, which are of no use here.
        if opcode.startswith("APPEND") and isinstance(target, list):
            target.extend(values)
            return
        if not opcode.startswith("SETITEM") or not isinstance(target, dict) or len(values) % 2:
            raise TorchFileError(f"its pickle is damaged: {opcode} fits no {type(target).__name__}")
        for key, value in zip(values[::2], values[1::2], strict=True):
            # As a text, because a file can choose numbers that all have one hash.
            name = str(key) if type(key) is int else key
            if not isinstance(name, str) or name in target:
                raise TorchFileError(f"the key {_cut(key)} of a dict occurs twice, or is not a name")
            target[name] = value


@dataclass(frozen=True)
class _Global:
    """A class or function that the pickle names."""

    name: str


def _storage(description: Any) -> StoredTensor:
    match description:
        case ("storage", _Global(kind), str(key), str(), count) if (
            kind in _DTYPES and key.isascii() and key.isdecimal() and _is_size(count)
        ):
            return StoredTensor(key, _DTYPES[kind], count)
    raise TorchFileError("it has a storage of an unknown kind")


def _call(function: Any, arguments: Any) -> Any:
    match function, arguments:
        case (_Global(name), ()) if name == _DICT:
            return {}
        case (_Global(name), (StoredTensor() as storage, offset, tuple(shape), tuple(strides), _, _)) if (
            name == _TENSOR
            and len(shape) == len(strides) <= _MOST_DIMENSIONS
            and all(map(_is_size, (offset, *shape, *strides)))
        ):
            return replace(storage, offset=offset, shape=shape, strides=strides)
        case (_Global(name), (StoredTensor() as tensor, _, _)) if name == _PARAMETER:
            return tensor
    raise TorchFileError("it has a tensor that is not dense, or is damaged")


def _is_size(number: Any) -> bool:
    return type(number) is int and 0 <= number < _MOST_NUMBER


def _cut(value: object) -> str:
    """Returns the beginning of a value in printable ASCII."""
    return ascii(str(value) if isinstance(value, (str, int, ValueError)) else type(value).__name__)[:100]
