"""Reads the graph of an ONNX file and the numbers of its tensors, without running anything that it describes.

The file is one protobuf message, a model: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto. This module
reads the few fields that tell which tensor is used where, skips all others, and reads a tensor's numbers only
when they are asked for. Graphs within nodes are skipped, so nothing here is recursive.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from exporter.errors import ExportError

# Kokoro's graphs have a tenth of it.
_MOST_FIELDS = 1 << 19
_MOST_TEXT = 1 << 24
_LONGEST_TEXT = 1 << 12
_MOST_DIMENSIONS = 8
# No protobuf message is longer.
_MOST_BYTES = (1 << 31) - 1
_WINDOW = 1 << 16
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_DTYPES = {
    1: torch.float32,
    2: torch.uint8,
    3: torch.int8,
    6: torch.int32,
    7: torch.int64,
    9: torch.bool,
    10: torch.float16,
    11: torch.float64,
    16: torch.bfloat16,
}
# TensorProto: raw_data, float_data and double_data hold numbers as in memory, the other two as varints.
_PLAIN_DATA = {9: None, 4: torch.float32, 10: torch.float64}
_VARINT_DATA = (5, 7)


class OnnxFileError(ExportError):
    """A file is not an ONNX model, is damaged, or keeps its numbers elsewhere."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of the file."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """A tensor as the file describes it."""

    name: str
    dtype: torch.dtype | None
    """None for a type that no weight has, such as text."""
    shape: tuple[int, ...]
    data: Span
    packed_integers: bool = False
    """True if the numbers are varints."""


@dataclass(slots=True)
class Node:
    """One operation of the graph."""

    name: str = ""
    operator: str = ""
    inputs: list[str] = field(default_factory=list)
    """Names of tensors and of other nodes' outputs; empty for an input that is left out."""
    outputs: list[str] = field(default_factory=list)
    integers: dict[str, list[int]] = field(default_factory=dict)
    """Attributes of one integer or of several."""
    tensor: OnnxTensor | None = None
    """The value of a constant."""

    def integer(self, name: str, default: int = 0) -> int:
        """Returns an attribute of one integer."""
        return (self.integers.get(name) or [default])[0]


class OnnxFile:
    """An open file, for use in a ``with`` statement."""

    def __init__(self, path: Path) -> None:
        """Opens a file and reads its graph.

        Raises:
            OSError: the file cannot be read.
            OnnxFileError: it is not an ONNX model, or describes more than any Kokoro model has.
        """
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._fields_left, self._text_left = _MOST_FIELDS, _MOST_TEXT
        self._window, self._window_start = b"", 0
        try:
            size = os.fstat(self._handle).st_size
            if size > _MOST_BYTES:
                raise OnnxFileError(f"it has {size:,} bytes, expected at most {_MOST_BYTES:,}")
            self.nodes: list[Node] = []
            self.tensors: dict[str, OnnxTensor] = {}
            """The graph's own tensors by name."""
            self._read_model(Span(0, size))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file."""
        os.close(self._handle)

    def __enter__(self) -> OnnxFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def read(self, tensor: OnnxTensor) -> torch.Tensor:
        """Returns the numbers of a tensor in its type and shape.

        Raises:
            OnnxFileError: the file has more or fewer of them, or no longer has them.
        """
        if tensor.dtype is None:
            raise OnnxFileError(f"its tensor {shown(tensor.name)} is not one of numbers")
        count = math.prod(tensor.shape)
        if tensor.packed_integers:
            return _from_varints(self._bytes(tensor.data).numpy(), tensor, count)
        expected, found = count * tensor.dtype.itemsize, tensor.data.end - tensor.data.start
        if found != expected:
            raise OnnxFileError(
                f"its tensor {shown(tensor.name)} has {found:,} bytes of numbers, expected {expected:,}"
            )
        return self._bytes(tensor.data).view(tensor.dtype).reshape(tensor.shape)

    def _read_model(self, span: Span) -> None:
        graphs = [value for number, value in self._fields(span) if number == 7 and isinstance(value, Span)]
        if len(graphs) != 1:
            raise OnnxFileError(f"expected one graph, found {len(graphs)}")
        for number, value in self._fields(graphs[0]):
            if number == 1:
                self.nodes.append(self._node(_span(value)))
            elif number == 5:
                tensor = self._tensor(_span(value))
                if tensor.name in self.tensors:
                    raise OnnxFileError(f"two of its tensors have the name {shown(tensor.name)}")
                self.tensors[tensor.name] = tensor
            elif number == 15:
                raise OnnxFileError("it has tensors that are not dense")

    def _node(self, span: Span) -> Node:
        node = Node()
        for number, value in self._fields(span):
            if number in (1, 2):
                (node.inputs if number == 1 else node.outputs).append(self._text(value))
            elif number == 3:
                node.name = self._text(value)
            elif number == 4:
                node.operator = self._text(value)
            elif number == 5:
                self._read_attribute(node, _span(value))
        return node

    def _read_attribute(self, node: Node, span: Span) -> None:
        name, integers = "", []
        for number, value in self._fields(span):
            if number == 1:
                name = self._text(value)
            elif number in (3, 8) and isinstance(value, int):
                integers.append(value - (value >> 63 << 64))
            elif number == 8:
                integers += self._varints(_span(value))
            elif number == 5:
                node.tensor = self._tensor(_span(value))
        if integers:
            node.integers[name] = integers

    def _tensor(self, span: Span) -> OnnxTensor:
        """Returns the description of a tensor, and passes over its numbers."""
        name, kind, data = "", 0, Span(0, 0)
        shape: list[int] = []
        dtype, packed, stored = None, False, 0
        for number, value in self._fields(span):
            if number == 1:
                shape += self._varints(value) if isinstance(value, Span) else [value]
            elif number == 2 and isinstance(value, int):
                kind = value
            elif number == 8:
                name = self._text(value)
            elif number == 13 or (number == 14 and value == 1):
                raise OnnxFileError(
                    f"the numbers of {shown(name) or 'a tensor'} lie in another file (external data): "
                    "save the model as one file"
                )
            elif number in _PLAIN_DATA or number in _VARINT_DATA:
                data, packed, stored = _span(value), number in _VARINT_DATA, stored + 1
                dtype = _PLAIN_DATA.get(number)
        found = _DTYPES.get(kind)
        if stored > 1 or (dtype and dtype != found):
            raise OnnxFileError(f"its tensor {shown(name)} has its numbers twice, or in another type")
        possible = len(shape) <= _MOST_DIMENSIONS and all(0 <= size <= _MOST_BYTES for size in shape)
        if not possible or math.prod(shape) > _MOST_BYTES:
            raise OnnxFileError(f"its tensor {shown(name)} has an impossible shape")
        return OnnxTensor(name, found, tuple(shape), data, packed)

    def _fields(self, span: Span) -> Iterator[tuple[int, int | Span]]:
        """Yields the fields of a message: numbers of 4 or 8 bytes, and the place of everything longer."""
        position = span.start
        while position < span.end:
            self._fields_left -= 1
            if self._fields_left < 0:
                raise OnnxFileError(f"it describes more than {_MOST_FIELDS:,} things")
            key, position = self._varint(position, span.end)
            value: int | Span
            if key & 7 == _VARINT:
                value, position = self._varint(position, span.end)
            elif key & 7 == _LENGTH:
                length, position = self._varint(position, span.end)
                value = Span(position, position + length)
                position += length
            elif key & 7 in (_FIXED32, _FIXED64):
                value = 0  # Nothing that is read here has it.
                position += 4 if key & 7 == _FIXED32 else 8
            else:
                raise OnnxFileError(f"it is damaged at byte {position:,}")
            if position > span.end:
                raise OnnxFileError(f"it is damaged or cut off at byte {span.end:,}")
            yield key >> 3, value

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        """Returns the number of at most 64 bits at a position, and the position after it."""
        value = 0
        for shift in range(0, 70, 7):
            if position >= end:
                break
            byte = self._byte(position)
            position += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & (1 << 64) - 1, position
        raise OnnxFileError(f"it is damaged or cut off at byte {position:,}")

    def _varints(self, span: Span) -> list[int]:
        """Returns signed numbers that lie one after the other."""
        numbers, position = [], span.start
        while position < span.end:
            self._fields_left -= 1
            if self._fields_left < 0:
                raise OnnxFileError(f"it describes more than {_MOST_FIELDS:,} things")
            value, position = self._varint(position, span.end)
            numbers.append(value - (value >> 63 << 64))
        return numbers

    def _byte(self, position: int) -> int:
        offset = position - self._window_start
        if not 0 <= offset < len(self._window):
            self._window, self._window_start = os.pread(self._handle, _WINDOW, position), position
            offset = 0
            if not self._window:
                raise OnnxFileError(f"it is cut off at byte {position:,}")
        return self._window[offset]

    def _text(self, value: int | Span) -> str:
        span = _span(value)
        length = span.end - span.start
        self._text_left -= length
        if length > _LONGEST_TEXT or self._text_left < 0:
            raise OnnxFileError(f"it has a name of {length:,} bytes, or more than {_MOST_TEXT:,} of names")
        try:
            return self._bytes(span).numpy().tobytes().decode()
        except UnicodeDecodeError as error:
            raise OnnxFileError(f"it has a name that is no text at byte {span.start:,}") from error

    def _bytes(self, span: Span) -> torch.Tensor:
        data = torch.empty(span.end - span.start, dtype=torch.uint8)
        view, done = data.numpy().data, 0
        while done < len(view):
            count = os.preadv(self._handle, [view[done:]], span.start + done)
            if not count:
                raise OnnxFileError(f"it is cut off at byte {span.start + done:,}")
            done += count
        return data


def _span(value: int | Span) -> Span:
    if not isinstance(value, Span):
        raise OnnxFileError("it is damaged: a number stands where a text or a message should")
    return value


def _from_varints(data: NDArray[np.uint8], tensor: OnnxTensor, count: int) -> torch.Tensor:
    """Returns numbers that are stored as varints; those of float16 and bfloat16 stand for their bits."""
    ends = np.flatnonzero(data < 128) + 1
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    longest = int((ends - starts).max(initial=0))
    if len(ends) != count or (count and ends[-1] != len(data)) or longest > 10:
        raise OnnxFileError(f"its tensor {shown(tensor.name)} has {len(ends):,} numbers, expected {count:,}")
    values = np.zeros(count, np.uint64)
    for place in range(longest):
        inside = starts + place < ends
        part = data[starts[inside] + place] & np.uint8(127)
        values[inside] |= part.astype(np.uint64) << np.uint64(7 * place)
    signed = torch.from_numpy(values.view(np.int64)).reshape(tensor.shape)
    if tensor.dtype in (torch.float16, torch.bfloat16):
        return signed.to(torch.int16).view(tensor.dtype)
    return signed.to(tensor.dtype)


def shown(name: str) -> str:
    """Returns the beginning of a name in printable ASCII."""
    return ascii(name)[1:-1][:100]
