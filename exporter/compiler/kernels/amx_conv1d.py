"""One-dimensional convolution on Intel's matrix unit, of the weights that `winograd` takes.

A matrix unit has many times the multiplications of vectors, and a transform would cost more than it saves.
So the convolution is direct: for each tap a product of two matrices, the samples as they lie from the tap's
place on, and the tap's factors. One file of weights serves all levels, and these are transformed: the taps
are computed from as many of a scheme's products as there are taps, once in each call.

A job has a span of time, and all blocks of output channels. It activates its input, rounds it to bfloat16
and, for one block after the other, multiplies square after square of 32 time steps and 32 output channels.
The order of a sum's products is the same wherever an output lies, so jobs change no bit.
"""

from typing import Any

import numpy as np
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import amx, bfloat16
from exporter.compiler.kernels.convolution import (
    Convolution,
    activate,
    convolution_function,
    store_output,
)
from exporter.compiler.kernels.tiles import CHANNEL_BLOCK, Tiles
from exporter.compiler.kernels.transforms import combine, entries
from exporter.compiler.kernels.winograd_schemes import SCHEMES, Matrix, Scheme

STEPS = amx.SIDE * amx.ROWS
"""Time steps of a square."""
LONGEST, SHORTEST = 8, 2
"""Squares along time of a job: more would leave the L2 cache, and fewer activate much input twice."""
MANY = 16
"""Number of jobs below which they get shorter, so that as many cores have work."""
_LANES = 16
_SQUARES, _JOBS, _SHARES = range(3)
"""Entries of a call's plan: squares along time, spans of time, and how many jobs share a span's outputs."""


def chosen_products(scheme: Scheme) -> list[int]:
    """Returns the rows of a scheme's `filter_transform` that the taps are computed from, one for each tap.

    Each is the one of which most is left beside those before it (a QR decomposition with pivots), so that
    the rounding of stored products grows little.
    """
    left, chosen = scheme.filter_transform.copy(), []
    for _ in range(scheme.taps):
        # Rounded, so that of equal rows the first is chosen on every machine.
        row = int(np.argmax(np.linalg.norm(left, axis=1).round(9)))
        direction = left[row] / np.linalg.norm(left[row])
        left -= np.outer(left @ direction, direction)
        chosen.append(row)
    return sorted(chosen)


def taps_of_products(scheme: Scheme) -> Matrix:
    """Returns the taps as sums of the `chosen_products`, [taps, taps]."""
    inverse = np.linalg.inv(scheme.filter_transform[chosen_products(scheme)])
    # Inversion leaves small numbers in place of zeros, and these would be multiplied.
    return np.where(np.abs(inverse) < 1e-12, 0, inverse)


def _recover_factors(spec: Convolution) -> Any:
    """Returns a TIR macro that writes the factors of one block of output channels and `amx.DEPTH` inputs.

    They lie as they are read: for each tap `amx.SIDE` tiles of factors.
    """
    scheme = SCHEMES[spec.taps]
    products, taps = chosen_products(scheme), taps_of_products(scheme)

    def emit(weight: Any, factors: Any, values: Any, place: Any) -> None:
        block, chunk, pair, side = place
        channels = T.ramp(side * amx.OUTPUTS, 1, _LANES)
        for which in range(2):
            for number, product in enumerate(products):
                stored = weight[block, product, chunk * amx.DEPTH + pair * 2 + which, channels]
                T.buffer_store(
                    values, T.cast(stored, f"float32x{_LANES}"), [number, which, T.ramp(0, 1, _LANES)]
                )
        for tap, row in enumerate(taps):
            first, second = (combine(row, entries(values, which, T.ramp(0, 1, _LANES))) for which in range(2))
            rounded = bfloat16.pairs(first, second, _LANES)
            T.buffer_store(factors, rounded, [block, chunk, tap, side, pair, T.ramp(0, 1, _LANES)])

    @T.inline
    def recover(weight: Any, factors: Any, block: Any, chunk: Any) -> None:
        for pair, side in T.grid(amx.ROWS, amx.SIDE):
            values = T.alloc_buffer((spec.taps, 2, _LANES), "float32", scope="local")
            emit(weight, factors, values, (block, chunk, pair, side))

    return recover


def _row(spec: Convolution) -> int:
    """Returns the elements from one row of activated input to the next.

    A line of the caches more than a row has: a stride of a power of two would map all rows to few sets.
    """
    return spec.in_channels + amx.DEPTH


def _activate_step(spec: Convolution) -> Any:
    """Returns a TIR macro that writes the activated and rounded input of a time step; zeros outside."""
    stride = _row(spec)

    @T.inline
    def activate_step(buffers: Any, window: Any, row: Any, time: Any, n: Any) -> None:
        for chunk in T.serial(spec.in_channels // _LANES):
            values = T.alloc_buffer((_LANES,), "float32", scope="local")
            if time >= 0 and time < n:
                for lane in T.vectorized(_LANES):
                    values[lane] = activate(
                        spec, buffers.x[0, time, chunk * _LANES + lane], buffers, chunk * _LANES + lane
                    )
                window[T.ramp(row * stride + chunk * _LANES, 1, _LANES)] = bfloat16.halves(
                    values[T.ramp(0, 1, _LANES)], _LANES
                )
            else:
                for lane in T.vectorized(_LANES):
                    window[row * stride + chunk * _LANES + lane] = T.uint16(0)

    return activate_step


def _square(spec: Convolution) -> Any:
    """Returns a TIR macro that computes the products' sums of one square, from a row of the window on."""
    stride = _row(spec)

    def add(window: Any, factors: Any, block: Any, row: Any, chunk: Any, tap: Any) -> None:
        rows = [row + side * amx.ROWS + tap * spec.dilation for side in range(amx.SIDE)]
        amx.add_products(
            [window[row * stride + chunk * amx.DEPTH] for row in rows],
            2 * stride,
            [factors[block, chunk, tap, side, 0, 0] for side in range(amx.SIDE)],
        )

    @T.inline
    def compute(window: Any, factors: Any, block: Any, row: Any, sums: Any) -> None:
        amx.clear()
        # All taps of a chunk of channels read the same few lines, which stay in the L1 cache.
        for chunk, tap in T.grid(spec.in_channels // amx.DEPTH, spec.taps):
            add(window, factors, block, row, chunk, tap)
        amx.store(sums)

    return compute


def _store_square(spec: Convolution) -> Any:
    """Returns a TIR macro that writes the outputs of one square, as far as the signal goes."""

    @T.inline
    def write(buffers: Any, sums: Any, block: Any, start: Any, length: Any) -> None:
        for row, chunk in T.grid(T.min(T.int64(STEPS), length - start), CHANNEL_BLOCK // _LANES):
            for lane in T.vectorized(_LANES):
                store_output(
                    spec, sums[row, chunk * _LANES + lane], buffers,
                    block * CHANNEL_BLOCK + chunk * _LANES + lane, start + row,
                )  # fmt: skip

    return write


def _emit_plan(spec: Convolution, plan: Any, length: Any) -> None:
    """Emits the plan of a call with an output of `length` steps.

    Each value is stored and read again, because TVM's simplifier takes forever over nested quotients.
    """
    shares = 2 if spec.out_channels // CHANNEL_BLOCK % 2 == 0 else 1

    def stored(entry: int, value: Any) -> Any:
        T.buffer_store(plan, value, [entry])
        return plan[entry]

    squares = stored(_SQUARES, T.floordiv(length + (STEPS - 1), STEPS))
    shortest = stored(_JOBS, T.min(T.floordiv(squares + (SHORTEST - 1), SHORTEST), MANY))
    jobs = stored(_JOBS, T.max(shortest, T.floordiv(squares + (LONGEST - 1), LONGEST)))
    # Two cores want an even number of jobs; a single job is shared, half the channels each.
    odd = T.if_then_else(jobs == 1, T.int64(0), T.floormod(jobs, 2))
    jobs = stored(_JOBS, T.min(jobs + odd, squares))
    stored(_SHARES, T.if_then_else(jobs == 1, T.int64(shares), T.int64(1)))


def _first_square(plan: Any, job: Any) -> Any:
    """Returns the first square along time of a span, or their number for the one after the last."""
    return T.floordiv(job * plan[_SQUARES], plan[_JOBS])


def convolution(spec: Convolution, tiles: Tiles) -> PrimFunc:
    """Returns the kernel of `spec`, which `winograd.convolution` calls for levels with the matrix unit.

    Its arguments are those of `convolution_function`, and a weight of `winograd.pack_weight`. Input and
    output have the channels last, and whole blocks of channels.
    """
    products, blocks = SCHEMES[spec.taps].products, spec.out_channels // CHANNEL_BLOCK
    reach, chunks = (spec.taps - 1) * spec.dilation, spec.in_channels // amx.DEPTH
    tile_rows = (amx.SIDE, amx.ROWS, amx.OUTPUTS)
    recover, activate_step = _recover_factors(spec), _activate_step(spec)
    compute, write = _square(spec), _store_square(spec)

    @T.inline
    def convolve(buffers: Any, n: Any) -> None:
        T.attr(0, "pragma_import_llvm", bfloat16.LLVM[_LANES])
        plan = T.alloc_buffer((3,), "int64", scope="global")
        factors = T.alloc_buffer((blocks, chunks, spec.taps, *tile_rows), "int32", scope="global")
        _emit_plan(spec, plan, n + spec.growth)
        for block_chunk in T.parallel(blocks * chunks):
            recover(buffers.weight, factors, T.floordiv(block_chunk, chunks), T.floormod(block_chunk, chunks))
        for job in T.parallel(plan[_JOBS] * plan[_SHARES]):
            # One axis, because TVM would shorten rows to what it sees used, and not the stride of a tile.
            window = T.alloc_buffer(((LONGEST * STEPS + reach) * _row(spec),), "uint16", scope="global")
            sums = T.alloc_buffer((STEPS, CHANNEL_BLOCK), "float32", scope="global")
            # First square of the job, number of its squares along time, number of its blocks.
            own = T.alloc_buffer((3,), "int64", scope="local")
            own[0] = _first_square(plan, T.floordiv(job, plan[_SHARES]))
            own[1] = _first_square(plan, T.floordiv(job, plan[_SHARES]) + 1) - own[0]
            own[2] = T.floordiv(blocks, plan[_SHARES])
            start: T.let[T.int64] = own[0] * STEPS
            for row in T.serial(own[1] * STEPS + reach):
                activate_step(buffers, window, row, start - spec.padding + row, n)
            amx.configure()
            for share_block, square in T.grid(own[2], own[1]):
                block: T.let[T.int64] = T.floormod(job, plan[_SHARES]) * own[2] + share_block
                compute(window, factors, block, square * STEPS, sums)
                write(buffers, sums, block, start + square * STEPS, n + spec.growth)
            amx.release()

    return convolution_function(spec, (blocks, products, spec.in_channels, CHANNEL_BLOCK), convolve)
