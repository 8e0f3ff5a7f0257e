"""Loops over a register tile: a local buffer that LLVM keeps in vector registers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tvm.script import tirx as T


class RegisterTile(NamedTuple):
    """Shape of a register tile: each of `rows` rows has `vectors` vectors of `lanes` float32 lanes."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.vectors * self.lanes

    @contextmanager
    def each(self) -> Iterator[tuple[Any, Any, Any]]:
        """Emits loops over (row, vector, lane), of which only the vectors remain as instructions."""
        with T.unroll(self.rows) as row, T.unroll(self.vectors) as vector, T.vectorized(self.lanes) as lane:
            yield row, vector, lane

    def clear(self, total: Any) -> None:
        """Emits total = 0."""
        with self.each() as index:
            T.buffer_store(total, T.float32(0), list(index))

    def store(self, buffer: Any, total: Any, place: Any) -> None:
        """Emits the store of a tile, whose first row and column have the last two indices of `place`."""
        *others, first, column = place
        with self.each() as index:
            row, vector, lane = index
            target = [*others, first + row, column + vector * self.lanes + lane]
            T.buffer_store(buffer, total[index], target)

    def add(self, total: Any, addend: Any) -> None:
        """Emits total = total + addend."""
        with self.each() as index:
            T.buffer_store(total, total[index] + addend[index], list(index))
