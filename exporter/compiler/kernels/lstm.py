"""Recurrence of a bidirectional LSTM over the real length of channel-major gates.

The input projection of all steps is a convolution with one tap, made beforehand; what is left is, for every
step, one product of the recurrent weights with the hidden state. A direction's weights are 1 MB at 256
units and are read anew in every step, so they lie in the order in which they are read.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel, length
from exporter.compiler.kernels.tiles import Tiles

UNITS = 16
"""Hidden units of a block of packed weights; a block holds all four gates, so it can update its cells."""

ROWS = 4 * UNITS
"""Rows of the recurrent weight matrix in a block."""

STEPS = 16
"""Time steps whose gates are transposed together: one cache line of time."""


def pack_recurrent(forward: NDArray[np.float32], backward: NDArray[np.float32]) -> NDArray[np.float32]:
    """Packs both directions' recurrent weights into blocks of 16 hidden units.

    Args:
        forward: `weight_hh_l0` of torch.nn.LSTM, [4 * hidden, hidden]: input, forget, cell, output gate.
        backward: `weight_hh_l0_reverse`, likewise.

    Returns:
        Float32 [2, hidden / 16, hidden, 64]: direction, block, previous hidden unit, gate * 16 + unit.

    Raises:
        ValueError: `hidden` is not a multiple of 16.
    """
    hidden = forward.shape[1]
    check_hidden(hidden)
    gates = np.stack([forward, backward]).reshape(2, 4, hidden // UNITS, UNITS, hidden)
    return np.ascontiguousarray(gates.transpose(0, 2, 4, 1, 3).reshape(2, hidden // UNITS, hidden, ROWS))


def check_hidden(hidden: int) -> None:
    """Raises ValueError where blocks do not divide the hidden units."""
    if hidden <= 0 or hidden % UNITS:
        raise ValueError(f"the LSTM kernel needs a positive multiple of {UNITS} hidden units, found {hidden}")


@T.inline
def _load_gates(gates: Any, rows: Any, hidden: Any, direction: Any, first: Any, steps: Any) -> None:
    """Transposes gates from time `first` to rows[block, time - first, gate * 16 + unit]."""
    for gate, block in T.grid(4, hidden // UNITS):
        for offset in T.serial(steps):
            for unit in T.vectorized(UNITS):
                rows[block, offset, gate * UNITS + unit] = gates[
                    0, direction * 4 * hidden + gate * hidden + block * UNITS + unit, first + offset
                ]


@T.inline
def _multiply(weight: Any, state: Any, total: Any, hidden: Any, chains: Any, where: Any) -> None:
    """Sets total[0] to one block of the recurrent product; `where` is (direction, block, step)."""
    for chain in T.unroll(chains):
        for row in T.vectorized(ROWS):
            total[chain, row] = T.float32(0)
    for group in T.serial(hidden // chains):
        for chain in T.unroll(chains):
            for row in T.vectorized(ROWS):
                total[chain, row] += state[where[2], group * chains + chain] * T.cast(
                    weight[where[0], where[1], group * chains + chain, row], "float32"
                )
    for chain in T.unroll(1, chains):
        for row in T.vectorized(ROWS):
            total[0, row] += total[chain, row]


@T.inline
def _update(total: Any, cell: Any, state: Any, block: Any, step: Any) -> None:
    """Updates the cells and hidden states of one block's units from the sums of their four gates."""
    for unit in T.vectorized(UNITS):
        cell[block * UNITS + unit] = (
            vector_math.sigmoid(total[0, UNITS + unit]) * cell[block * UNITS + unit]
            + vector_math.sigmoid(total[0, unit]) * vector_math.tanh(total[0, 2 * UNITS + unit])
        )  # fmt: skip
    for unit in T.vectorized(UNITS):
        state[step + 1, block * UNITS + unit] = vector_math.sigmoid(
            total[0, 3 * UNITS + unit]
        ) * vector_math.tanh(cell[block * UNITS + unit])


def bidirectional_lstm(hidden: int, tiles: Tiles, weight_dtype: str = "float32") -> PrimFunc:
    """Both directions of an LSTM, one thread each, over exactly the n time steps of the input.

    Buffers, float32: gates [1, 8 * hidden, n], which is W_ih x + b_ih + b_hh of the forward direction (input,
    forget, cell, output) and then of the backward one; recurrent weights of `pack_recurrent`
    [2, hidden / 16, hidden, 64]; the output [1, 2 * hidden, n], forward and then backward hidden states.
    The equations are those of torch.nn.LSTM, and both states start from zero.

    Args:
        hidden: hidden units of a direction, a multiple of 16.
        tiles: the CPU level's.
        weight_dtype: type of the stored weights.

    Raises:
        ValueError: `hidden` is not a multiple of 16.
    """
    check_hidden(hidden)
    blocks = hidden // UNITS
    chains = max(1, 8 * tiles.lanes // ROWS)  # eight independent registers hide the latency of a multiply-add

    n = length()

    @kernel(
        {"weight": weight_dtype},
        gates=(1, 8 * hidden, n), weight=(2, blocks, hidden, ROWS), output=(1, 2 * hidden, n),
    )  # fmt: skip
    def lstm(gates: Any, weight: Any, output: Any) -> None:
        for direction in T.parallel(2):
            rows = T.alloc_buffer((blocks, STEPS, ROWS), "float32")
            state = T.alloc_buffer((STEPS + 1, hidden), "float32")  # before the first step and after each one
            cell = T.alloc_buffer((hidden,), "float32")
            for unit in T.serial(hidden):
                cell[unit] = T.float32(0)
                state[0, unit] = T.float32(0)
            for part in T.serial(T.floordiv(n + (STEPS - 1), STEPS)):
                steps: T.let = T.min(T.int64(STEPS), n - part * STEPS)
                first: T.let = T.if_then_else(direction == 0, part * STEPS, n - part * STEPS - steps)
                _load_gates(gates, rows, hidden, direction, first, steps)
                for step in T.serial(steps):
                    offset: T.let = T.if_then_else(direction == 0, step, steps - 1 - step)
                    for turn in T.serial(blocks):
                        # Every other step walks backwards: what was read last is still in the cache.
                        block: T.let = T.if_then_else(T.floormod(step, 2) == 0, turn, blocks - 1 - turn)
                        total = T.alloc_buffer((chains, ROWS), "float32", scope="local")
                        _multiply(weight, state, total, hidden, chains, (direction, block, step))
                        # Added last: sums that start from the larger gates would round more coarsely.
                        for row in T.vectorized(ROWS):
                            total[0, row] += rows[block, offset, row]
                        _update(total, cell, state, block, step)
                for unit in T.serial(hidden):
                    for offset in T.serial(steps):
                        output[0, direction * hidden + unit, first + offset] = state[
                            T.if_then_else(direction == 0, offset + 1, steps - offset), unit
                        ]
                for unit in T.serial(hidden):
                    state[0, unit] = state[steps, unit]

    return lstm
