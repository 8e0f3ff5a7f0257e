"""Embedding lookup into channel-major activations."""

from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.function import kernel, length


def embedding(rows: int, channels: int, positions: int) -> PrimFunc:
    """Returns a kernel for table rows by token as [channels, time], plus rows of positions if there are any.

    Buffers: token_ids int64 [1, n]; table float32 [rows, channels]; position_table float32
    [positions, channels] or [1]; output float32 [1, channels, n].
    """
    n = length()

    @kernel(
        {"token_ids": "int64"}, token_ids=(1, n), table=(rows, channels),
        position_table=(positions, channels) if positions > 0 else (1,), y=(1, channels, n),
    )  # fmt: skip
    def embed(token_ids: Any, table: Any, position_table: Any, y: Any) -> None:
        for channel in T.parallel(channels):
            for step in T.serial(n):
                if positions > 0:
                    y[0, channel, step] = table[token_ids[0, step], channel] + position_table[step, channel]
                else:
                    y[0, channel, step] = table[token_ids[0, step], channel]

    return embed
