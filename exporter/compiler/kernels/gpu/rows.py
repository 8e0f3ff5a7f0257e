"""Blocks of threads as rows of 32 lanes: lanes read neighbouring numbers, rows share the work of a lane."""

from typing import Any

from tvm.script import tirx as T

LANES = 32
ROWS = 8
THREADS = LANES * ROWS


def sum_rows(columns: int) -> Any:
    """Returns a TIR macro that replaces each thread's sums, [columns], by those over all rows of its lane."""

    @T.inline
    def reduce(sums: Any, row: Any, lane: Any) -> None:
        parts = T.alloc_buffer((columns, ROWS, LANES), "float32", scope="shared")
        T.tvm_storage_sync("shared")
        for column in T.unroll(columns):
            parts[column, row, lane] = sums[column]
            sums[column] = T.float32(0)
        T.tvm_storage_sync("shared")
        for other in T.serial(ROWS):
            for column in T.unroll(columns):
                sums[column] = sums[column] + parts[column, other, lane]

    return reduce
