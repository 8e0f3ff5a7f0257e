"""Embedding lookup into channel-major activations."""

from tvm.script import tirx as T
from tvm.tirx import PrimFunc


def embedding(rows: int, channels: int, positions: int) -> PrimFunc:
    """Returns a kernel for table rows by token as [channels, time], plus rows of positions if there are any.

    Buffers: token_ids int64 [1, n]; table float32 [rows, channels]; position_table float32
    [positions, channels] or [1]; output float32 [1, channels, n].
    """

    @T.prim_func(private=True, s_tir=True)
    def embed(
        token_ids_handle: T.handle,
        table_handle: T.handle,
        position_table_handle: T.handle,
        y_handle: T.handle,
    ) -> None:
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})
        n = T.int64()
        token_ids = T.match_buffer(token_ids_handle, (1, n), "int64")
        table = T.match_buffer(table_handle, (rows, channels), "float32")
        position_table = T.match_buffer(
            position_table_handle, (positions, channels) if positions > 0 else (1,), "float32"
        )
        y = T.match_buffer(y_handle, (1, channels, n), "float32")
        for channel in T.parallel(channels):
            for step in T.serial(n):
                if positions > 0:
                    y[0, channel, step] = table[token_ids[0, step], channel] + position_table[step, channel]
                else:
                    y[0, channel, step] = table[token_ids[0, step], channel]

    return embed
