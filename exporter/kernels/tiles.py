"""Sizes of register tiles for each CPU level: the only thing in which kernels differ between levels."""

from dataclasses import dataclass

CHANNEL_BLOCK = 8
"""Output channels that lie together in packed convolution weights; one packing serves every CPU level."""


@dataclass(frozen=True)
class Tiles:
    """How a CPU level's vector registers are filled.

    Attributes:
        lanes: float32 lanes of one vector register.
        channels: output channels of a register tile, a divisor of `CHANNEL_BLOCK`.
        vectors: vectors along time of a register tile.
    """

    lanes: int
    channels: int
    vectors: int

    @property
    def columns(self) -> int:
        """Time steps of one register tile."""
        return self.lanes * self.vectors


AVX512 = Tiles(lanes=16, channels=8, vectors=2)
AVX2 = Tiles(lanes=8, channels=4, vectors=2)
