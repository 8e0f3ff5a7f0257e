"""Limits of a block of threads that hold on every supported GPU, and the needs of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import tvm_ffi
from tvm import tirx

LIMITS = {"max_num_threads": 256, "max_shared_memory_per_block": 32768}
"""Attributes of a TVM target. Metal has 1024 threads, but fewer for a kernel that needs many registers."""


@dataclass(frozen=True)
class Launch:
    """Resources of one block of threads.

    Attributes:
        threads: number of threads.
        shared_bytes: bytes of shared memory, if no two buffers share their place.
    """

    threads: int
    shared_bytes: int

    def fits(self) -> bool:
        """Returns whether every supported GPU has these resources."""
        return (
            0 < self.threads <= LIMITS["max_num_threads"]
            and self.shared_bytes <= LIMITS["max_shared_memory_per_block"]
        )


def launches(function: tirx.PrimFunc) -> list[Launch]:
    """Returns the launches of a function on the GPU in order; none if the function is for the CPU."""
    return [_measure(nest) for nest in _nests(function.body)]


def _nests(statement: Any) -> Iterator[tirx.For]:
    """Yields the outermost loops over blocks or threads."""
    if isinstance(statement, tirx.For) and statement.kind == tirx.ForKind.THREAD_BINDING:
        yield statement
    elif isinstance(statement, tirx.SeqStmt):
        for part in statement.seq:
            yield from _nests(part)
    elif hasattr(statement, "block"):
        yield from _nests(statement.block.body)
    elif hasattr(statement, "body"):
        yield from _nests(statement.body)


def _measure(nest: tirx.For) -> Launch:
    threads: list[int] = []
    shared: list[int] = []

    def visit_loop(loop: tirx.For) -> None:
        if loop.thread_binding is not None and loop.thread_binding.thread_tag.startswith("threadIdx"):
            threads.append(int(loop.extent))

    def visit_buffer(allocation: tirx.AllocBuffer) -> None:
        buffer = allocation.buffer
        if buffer.scope() == "shared":
            shared.append(prod(int(size) for size in buffer.shape) * 4)

    tvm_ffi.structural_walk(nest, [(tirx.For, visit_loop), (tirx.AllocBuffer, visit_buffer)], order="post")
    return Launch(prod(threads) if threads else 0, sum(shared))
