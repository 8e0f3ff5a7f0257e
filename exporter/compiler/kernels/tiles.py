"""Sizes of register tiles and jobs for each CPU level; kernels of two levels differ in nothing else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from exporter.compiler.targets import CpuLevel

Sizes = dict[str, int]
Table = dict[str, dict[str, Sizes]]
"""Sizes by CPU level and kernel, as `kokoro-export tune` measures them."""
TABLE = Path(__file__).parents[1] / "data" / "tuning.json"

CHANNEL_BLOCK = 32
"""Output channels that lie together in packed convolution weights; one packing serves every CPU level."""


@dataclass(frozen=True)
class Tiles:
    """Use of the vector registers of a CPU level.

    Attributes:
        lanes: float32 lanes of one vector register.
        channels: channels of a register tile with vectors along time.
        vectors: vectors of a register tile.
        steps: time steps of a register tile with vectors along channels, an even number.
        widened_steps: the same for one vector of widened weights; None where `steps` serve them too.
        winograd: rows and vectors of a tile of Winograd's method, in place of `channels` and `vectors`.
        arithmetic: ``float32``, or ``bfloat16`` where products may be rounded so.
        has_matrix_unit: the level has Intel's matrix unit, for products of bfloat16.
        table: sizes of single kernels; they change no bit of a result.
    """

    lanes: int
    channels: int
    vectors: int
    steps: int
    widened_steps: int | None = None
    winograd: tuple[int, int] | None = None
    arithmetic: str = "float32"
    has_matrix_unit: bool = False
    table: Mapping[str, Sizes] = field(default_factory=dict, hash=False)

    @property
    def columns(self) -> int:
        """Elements of a register tile's vectors."""
        return self.lanes * self.vectors

    def for_weights(self, dtype: str) -> "Tiles":
        """Returns the tiles for weights of a type; for widened weights of one vector, if the level has them.

        A widened vector then serves more multiplications. This needs AVX-512, which multiplies by a sample
        that it broadcasts from memory, and whose 32 registers hold the sums and what is added to them.
        """
        if dtype == "float32" or self.widened_steps is None:
            return self
        return replace(self, vectors=1, steps=self.widened_steps)

    def sizes(self, kernel: str, **defaults: int) -> Sizes:
        """Returns the sizes of a kernel from the table, or `defaults` where the table has none."""
        return defaults | self.table.get(kernel, {})


AVX512 = Tiles(lanes=16, channels=8, vectors=2, steps=12, widened_steps=16)
AVX2 = Tiles(lanes=8, channels=4, vectors=2, steps=6)
# Widening weights takes as long as multiplying on many Arm cores, so a widened vector serves twelve samples.
NEON = Tiles(lanes=4, channels=8, vectors=2, steps=12, winograd=(12, 2))
# Engines on x86-64 have 15 vector registers to give, and widen a weight by four instructions.
WASM = Tiles(lanes=4, channels=4, vectors=2, steps=6, winograd=(8, 1))
_BY_LANES = {tiles.lanes: tiles for tiles in (AVX512, AVX2, NEON)}


def tiles_of(level: CpuLevel) -> Tiles:
    """Returns the register tiles of a CPU level with its part of the table."""
    tiles = WASM if level.name == "simd128" else _BY_LANES[level.lanes]
    table = read_table().get(level.base or level.name, {})
    return replace(tiles, arithmetic=level.arithmetic, has_matrix_unit=level.has_matrix_unit, table=table)


def read_table() -> Table:
    """Returns the table of measured sizes."""
    table: Table = json.loads(TABLE.read_text(encoding="utf-8"))
    return table
