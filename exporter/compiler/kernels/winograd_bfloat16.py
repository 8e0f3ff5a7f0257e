"""Winograd's products of bfloat16: the order of samples, factors and sums that the instructions need.

On AVX-512 an instruction multiplies the pair of one column by the pairs of as many output channels as a
register has lanes. On Arm it multiplies two columns by two output channels, four input channels of each. Both
add the products of an output in the order of its input channels.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from tvm.script import tirx as T

from exporter.compiler.kernels import bfloat16
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.register_tile import RegisterTile
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK as BLOCK
from exporter.compiler.kernels.winograd_schemes import SCHEMES


@dataclass(frozen=True)
class Pairs:
    """Operands of AVX-512: sums lie as the tile's outputs do."""

    tile: RegisterTile
    depth: ClassVar[int] = 2
    """Input channels of an instruction."""

    @property
    def sums(self) -> RegisterTile:
        """Shape of the sums of a register tile."""
        return self.tile

    def samples_shape(self, products: int, columns: int, channels: int) -> tuple[int, ...]:
        """Returns the shape of transformed samples, uint16."""
        return (products, columns, channels)

    def place(self, product: Any, column: Any, channel: Any) -> list[Any]:
        """Returns where one register of channels of a column lies among the transformed samples."""
        return [product, column, T.ramp(channel, 1, self.tile.lanes)]

    def factors_shape(self, channels: int) -> tuple[int, ...]:
        """Returns the shape of the rounded factors of a register tile's output channels, int32."""
        return (channels // self.depth, self.tile.columns)

    def round_factors(self, factors: Any, number: Any, vector: Any, stored: list[Any]) -> None:
        """Emits the rounded factors of one register of output channels and `depth` input channels."""
        first, second = stored
        lanes = T.ramp(vector * self.tile.lanes, 1, self.tile.lanes)
        T.buffer_store(factors, bfloat16.pairs(first, second, self.tile.lanes), [number, lanes])

    def add_products(self, total: Any, factors: Any, samples: Any, place: Any) -> None:
        """Emits the products of a register tile and `depth` input channels."""
        product, first, number = place
        lanes = self.tile.lanes
        with T.unroll(self.tile.rows) as row, T.unroll(self.tile.vectors) as vector:
            pair = T.reinterpret("int32", samples[product, first + row, T.ramp(number * 2, 1, 2)])
            sums, factor = total[row, vector, _all(lanes)], factors[number, T.ramp(vector * lanes, 1, lanes)]
            added = bfloat16.add_products(sums, factor, T.broadcast(pair, lanes), lanes)
            T.buffer_store(total, added, [row, vector, _all(lanes)])

    def store(self, product: Any, total: Any, place: Any) -> None:
        """Emits the store of a register tile's sums."""
        self.tile.store(product, total, place)


@dataclass(frozen=True)
class Squares:
    """Operands of Arm: squares of two columns or two output channels by four input channels."""

    tile: RegisterTile
    depth: ClassVar[int] = 4

    @property
    def sums(self) -> RegisterTile:
        """Shape of a register tile's sums: a register has two outputs of one column, then of the next."""
        return RegisterTile(self.tile.rows // 2, self.tile.vectors * 2, self.tile.lanes)

    def samples_shape(self, products: int, columns: int, channels: int) -> tuple[int, ...]:
        """Returns the shape of transformed samples, uint16: one square after the other."""
        return (products, -(-columns // 2), channels // 4, 8)

    def place(self, product: Any, column: Any, channel: Any) -> list[Any]:
        """Returns where four channels of a column lie among the transformed samples."""
        half = T.ramp(T.floormod(column, 2) * 4, 1, 4)
        return [product, T.floordiv(column, 2), T.floordiv(channel, 4), half]

    def factors_shape(self, channels: int) -> tuple[int, ...]:
        """Returns the shape of the rounded factors of a register tile's output channels, int32."""
        return (channels // self.depth, self.tile.vectors, 8)

    def round_factors(self, factors: Any, number: Any, vector: Any, stored: list[Any]) -> None:
        """Emits the two squares of one register of output channels and `depth` input channels."""
        T.buffer_store(factors, bfloat16.squares(stored), [number, vector, _all(8)])

    def add_products(self, total: Any, factors: Any, samples: Any, place: Any) -> None:
        """Emits the products of a register tile and `depth` input channels."""
        product, first, number = place
        with T.unroll(self.sums.rows) as row, T.unroll(self.tile.vectors) as vector, T.unroll(2) as half:
            columns = samples[product, T.floordiv(first, 2) + row, number, _all(8)]
            sums = total[row, vector * 2 + half, _all(4)]
            factor = factors[number, vector, T.ramp(half * 4, 1, 4)]
            added = bfloat16.add_products(sums, factor, T.reinterpret("int32x4", columns), 4)
            T.buffer_store(total, added, [row, vector * 2 + half, _all(4)])

    def store(self, product: Any, total: Any, place: Any) -> None:
        """Emits the store of a register tile's sums, two outputs at a time."""
        point, first, channel = place
        with T.unroll(self.sums.rows) as row, T.unroll(self.sums.vectors) as pair, T.unroll(2) as column:
            target = [point, first + row * 2 + column, T.ramp(channel + pair * 2, 1, 2)]
            T.buffer_store(product, total[row, pair, T.ramp(column * 2, 1, 2)], target)


Operands = Pairs | Squares


def operands_of(tile: RegisterTile) -> Operands:
    """Returns the operands of the instruction that a register tile is for."""
    return Squares(tile) if tile.lanes == 4 else Pairs(tile)


def multiply_rounded(spec: Convolution, operands: Operands, prefetch: Any) -> Any:
    """Returns a TIR macro that multiplies all columns by the weights of one block of output channels.

    The factors of a register tile's output channels are rounded once for all of its columns.

    Args:
        spec: the convolution.
        operands: of the instruction.
        prefetch: a macro that fetches what the outputs overwrite, a part for each register tile.
    """
    tile, depth = operands.tile, operands.depth
    points, steps, parts = SCHEMES[spec.taps].products, spec.in_channels // depth, BLOCK // tile.columns

    def round_factors(factors: Any, weight: Any, place: Any) -> None:
        block, point, first = place
        with T.serial(steps) as number, T.unroll(tile.vectors) as vector:
            channels = T.ramp(first + vector * tile.lanes, 1, tile.lanes)
            stored = (weight[block, point, number * depth + which, channels] for which in range(depth))
            widened = [T.cast(each, f"float32x{tile.lanes}") for each in stored]
            operands.round_factors(factors, number, vector, widened)

    @T.inline
    def multiply(
        buffers: Any, block: Any, transformed: Any, groups: Any, product: Any, start: Any, length: Any
    ) -> None:
        for point, part in T.grid(points, parts):
            factors = T.alloc_buffer(operands.factors_shape(spec.in_channels), "int32", scope="local")
            round_factors(factors, buffers.weight, (block, point, part * tile.columns))
            for group in T.serial(groups):
                total = T.alloc_buffer(tuple(operands.sums), "float32", scope="local")
                operands.sums.clear(total)
                for number in T.serial(steps):
                    operands.add_products(total, factors, transformed, (point, group * tile.rows, number))
                operands.store(product, total, (point, group * tile.rows, part * tile.columns))
                prefetch(buffers, point * groups + group, block * BLOCK + part * tile.columns, start, length)

    return multiply


def _all(lanes: int) -> Any:
    return T.ramp(0, 1, lanes)
