"""Recurrence of a bidirectional LSTM on a GPU, over exactly the length of its input; see `kernels.lstm`.

A direction is one block of threads, since every step needs all hidden states of the step before, and only the
threads of a block can wait for each other. A thread has one hidden unit with its four gates and its cell.
"""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.function import kernel, length
from exporter.compiler.kernels.gpu.device_math import sigmoid, tanh
from exporter.compiler.kernels.gpu.limits import LIMITS
from exporter.compiler.kernels.lstm import ROWS, UNITS, check_hidden

CHUNK = 16
"""Products that are summed before the sum is added to the total, because long sums round more."""


def bidirectional_lstm(hidden: int, weight_dtype: str = "float32") -> PrimFunc:
    """Both directions of an LSTM; buffers as those of `kernels.lstm.bidirectional_lstm`.

    Raises:
        ValueError: `hidden` is not a multiple of 16, or there are more than a block has threads.
    """
    check_hidden(hidden)
    if hidden > LIMITS["max_num_threads"]:
        raise ValueError(
            f"{hidden} hidden units are more than the {LIMITS['max_num_threads']} threads of a block"
        )
    blocks = hidden // UNITS

    n = length()

    @kernel(
        {"weight": weight_dtype},
        gates=(1, 8 * hidden, n), weight=(2, blocks, hidden, ROWS), output=(1, 2 * hidden, n),
    )  # fmt: skip
    def lstm(gates: Any, weight: Any, output: Any) -> None:
        for direction in T.thread_binding(2, thread="blockIdx.x"):
            for unit in T.thread_binding(hidden, thread="threadIdx.x"):
                state = T.alloc_buffer((hidden,), "float32", scope="shared")
                own = T.alloc_buffer((2,), "float32", scope="local")  # cell, hidden state
                total = T.alloc_buffer((4,), "float32", scope="local")
                partial = T.alloc_buffer((4,), "float32", scope="local")
                own[0] = T.float32(0)
                own[1] = T.float32(0)
                for step in T.serial(T.cast(n, "int32")):
                    time: T.let[T.int32] = T.if_then_else(direction == 0, step, T.cast(n, "int32") - 1 - step)
                    T.tvm_storage_sync("shared")
                    state[unit] = own[1]
                    T.tvm_storage_sync("shared")
                    for gate in T.unroll(4):
                        total[gate] = T.float32(0)
                    for chunk in T.serial(hidden // CHUNK):
                        for gate in T.unroll(4):
                            partial[gate] = T.float32(0)
                        for source in T.serial(CHUNK):
                            for gate in T.unroll(4):
                                partial[gate] = partial[gate] + state[chunk * CHUNK + source] * T.cast(
                                    weight[
                                        direction,
                                        T.floordiv(unit, UNITS),
                                        chunk * CHUNK + source,
                                        gate * UNITS + unit % UNITS,
                                    ],
                                    "float32",
                                )
                        for gate in T.unroll(4):
                            total[gate] = total[gate] + partial[gate]
                    for gate in T.unroll(4):
                        total[gate] = total[gate] + gates[0, (direction * 4 + gate) * hidden + unit, time]
                    own[0] = sigmoid(total[1]) * own[0] + sigmoid(total[0]) * tanh(total[2])
                    own[1] = sigmoid(total[3]) * tanh(own[0])
                    output[0, direction * hidden + unit, time] = own[1]

    return lstm
