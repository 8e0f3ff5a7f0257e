"""Intel's matrix unit AMX: products of two tiles of bfloat16, added to a tile of float32.

A thread has eight tiles of 16 rows of 64 bytes, once it has loaded a configuration; Linux must have permitted
the process to use them. A tile of *samples* has 32 bfloat16 in each row. A tile of *factors* has 16 pairs of
`bfloat16` in each row: row k holds what the samples 2k and 2k + 1 are multiplied by, for 16 outputs. A tile
of *sums* has 16 float32 in each row, one for each output. The instructions read and write subnormal numbers
as 0.
"""

from typing import Any

from tvm.script import tirx as T

ROWS = 16
"""Rows of a tile."""
DEPTH = 32
"""Samples of a row, which one instruction multiplies and adds to each sum."""
OUTPUTS = 16
"""Sums of a row."""
SIDE = 2
"""Tiles of a side of a *square*: so many of samples and of factors are loaded, and multiplied each with each.

Each is used twice then, so that its load takes half of the time of its products.
"""
_ROW_BYTES = 64
_SUMS, _SAMPLES, _FACTORS = 0, SIDE * SIDE, SIDE * SIDE + SIDE
_WORDS = {
    # The palette, which is the kind of configuration.
    0: 1,
    # Bytes of a row, 16 bits for each tile.
    2: 0x0001_0001_0001_0001 * _ROW_BYTES,
    3: 0x0001_0001_0001_0001 * _ROW_BYTES,
    # Rows, 8 bits for each tile.
    6: 0x0101_0101_0101_0101 * ROWS,
}
"""Words of 64 bits of the configuration that are not 0, by their places among eight."""


def _call(name: str, *arguments: Any) -> None:
    """Emits an instruction; LLVM keeps its place among others and among accesses of memory."""
    T.evaluate(T.call_llvm_intrin("void", f"llvm.x86.{name}", *arguments))


def configure() -> None:
    """Emits the configuration of this thread's tiles, all of full size."""
    words = T.alloc_buffer((8,), "uint64", scope="local")
    for place in range(8):
        T.buffer_store(words, T.uint64(_WORDS.get(place, 0)), [place])
    _call("ldtilecfg", T.address_of(words[0]))


def release() -> None:
    """Emits the end of this thread's use of tiles, after which the system need not save them."""
    _call("tilerelease")


def clear() -> None:
    """Emits the clearing of a square's sums."""
    for tile in range(SIDE * SIDE):
        _call("tilezero", T.int8(_SUMS + tile))


def add_products(samples: Any, samples_stride: int, factors: Any) -> None:
    """Emits a square's sums += samples @ factors.

    Args:
        samples: buffer elements of uint16, the first of each tile of samples.
        samples_stride: bytes between rows of samples.
        factors: buffer elements of int32, the first of each tile of factors, whose rows are not apart.
    """
    for side in range(SIDE):
        _load(_SAMPLES + side, samples[side], samples_stride)
    for side in range(SIDE):
        _load(_FACTORS + side, factors[side], _ROW_BYTES)
    for row in range(SIDE):
        for column in range(SIDE):
            sums = _SUMS + row * SIDE + column
            _call("tdpbf16ps", T.int8(sums), T.int8(_SAMPLES + row), T.int8(_FACTORS + column))


def _load(tile: int, first: Any, stride: int) -> None:
    _call("tileloadd64", T.int8(tile), T.address_of(first), T.int64(stride))


def store(sums: Any) -> None:
    """Emits the store of a square's sums.

    Args:
        sums: float32 [SIDE * ROWS, SIDE * OUTPUTS].
    """
    for row in range(SIDE):
        for column in range(SIDE):
            address = T.address_of(sums[row * ROWS, column * OUTPUTS])
            stride = T.int64(4 * SIDE * OUTPUTS)
            _call("tilestored64", T.int8(_SUMS + row * SIDE + column), address, stride)
