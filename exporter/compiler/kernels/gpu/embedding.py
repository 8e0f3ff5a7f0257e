"""Embedding lookup on a GPU, one thread for each output; see `kernels.embedding`."""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.function import kernel, length

THREADS = 256


def embedding(rows: int, channels: int, positions: int) -> PrimFunc:
    """Table rows by token as [channels, time], with a table of positions added where `positions` > 0."""
    n = length()

    @kernel(
        {"token_ids": "int64"}, token_ids=(1, n), table=(rows, channels),
        position_table=(positions, channels) if positions > 0 else (1,), y=(1, channels, n),
    )  # fmt: skip
    def embed(token_ids: Any, table: Any, position_table: Any, y: Any) -> None:
        for channel in T.thread_binding(channels, thread="blockIdx.y"):
            for block in T.thread_binding(T.floordiv(n + (THREADS - 1), THREADS), thread="blockIdx.x"):
                for thread in T.thread_binding(THREADS, thread="threadIdx.x"):
                    step: T.let[T.int32] = T.cast(block, "int32") * THREADS + thread
                    if step < T.cast(n, "int32"):
                        if positions > 0:
                            y[0, channel, step] = (
                                table[token_ids[0, step], channel] + position_table[step, channel]
                            )
                        else:
                            y[0, channel, step] = table[token_ids[0, step], channel]

    return embed
