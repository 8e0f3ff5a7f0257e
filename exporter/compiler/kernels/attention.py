"""Multi-head self attention over the real length of channel-major projections.

A lane of a vector is a query, so the softmax over the keys is vertical arithmetic without reductions across
lanes, and queries, scores and context are all read and written in the order in which they lie.
"""

import math
from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel, length
from exporter.compiler.kernels.tiles import Tiles

KEYS = 64
"""Keys in one partial sum of weighted values, so that rounding errors do not grow with the length."""


@T.inline
def _load_queries(projections: Any, query: Any, channel_0: Any, size: Any, first: Any, n: Any) -> None:
    """Copies queries from time `first`, times 1/sqrt(channels); lanes past a short input's end become zero.

    `size` is (channels of the head, queries of a job).
    """
    if n >= size[1]:
        for channel in T.serial(size[0]):
            for lane in T.vectorized(size[1]):
                query[channel, lane] = projections[0, channel_0 + channel, first + lane] * T.float32(
                    1 / math.sqrt(size[0])
                )
    else:
        for channel in T.serial(size[0]):
            for lane in T.vectorized(size[1]):
                query[channel, lane] = T.float32(0)
            for time in T.serial(n):
                query[channel, time] = projections[0, channel_0 + channel, time] * T.float32(
                    1 / math.sqrt(size[0])
                )


@T.inline
def _score(
    projections: Any, query: Any, scores: Any, highest: Any, channel_0: Any, channels: Any, tiles: Any, n: Any
) -> None:
    """Sets scores[key, lane] to key . query and `highest` to each lane's maximum.

    The last register tile scores the last key again in place of keys past the end; those rows are not read.
    """
    for lane in T.vectorized(tiles.columns):
        highest[lane] = T.float32(-math.inf)
    for group in T.serial(T.floordiv(n + (tiles.channels - 1), tiles.channels)):
        total = T.alloc_buffer((tiles.channels, tiles.columns), "float32", scope="local")
        for row in T.unroll(tiles.channels):
            for lane in T.vectorized(tiles.columns):
                total[row, lane] = T.float32(0)
        for channel in T.serial(channels):
            for row in T.unroll(tiles.channels):
                for lane in T.vectorized(tiles.columns):
                    total[row, lane] += (
                        projections[0, channel_0 + channel, T.min(group * tiles.channels + row, n - 1)]
                        * query[channel, lane]
                    )
        for row in T.unroll(tiles.channels):
            for lane in T.vectorized(tiles.columns):
                highest[lane] = T.max(highest[lane], total[row, lane])
            for lane in T.vectorized(tiles.columns):
                scores[group * tiles.channels + row, lane] = total[row, lane]


@T.inline
def _exponentiate(scores: Any, highest: Any, scale: Any, columns: Any, n: Any) -> None:
    """Replaces each score by exp(score - highest) and sets `scale` to the inverse of each lane's sum."""
    for lane in T.vectorized(columns):
        scale[lane] = T.float32(0)
    for key in T.serial(n):
        for lane in T.vectorized(columns):
            scores[key, lane] = vector_math.exp(scores[key, lane] - highest[lane])
        for lane in T.vectorized(columns):
            scale[lane] += scores[key, lane]
    for lane in T.vectorized(columns):
        scale[lane] = T.float32(1) / scale[lane]


@T.inline
def _weigh_values(projections: Any, scores: Any, total: Any, channel_0: Any, tiles: Any, n: Any) -> None:
    """Sets total[row, lane] to the sum over the keys of scores[key, lane] * value[channel_0 + row, key]."""
    for row in T.unroll(tiles.channels):
        for lane in T.vectorized(tiles.columns):
            total[row, lane] = T.float32(0)
    for chunk in T.serial(T.floordiv(n + (KEYS - 1), KEYS)):
        part = T.alloc_buffer((tiles.channels, tiles.columns), "float32", scope="local")
        for row in T.unroll(tiles.channels):
            for lane in T.vectorized(tiles.columns):
                part[row, lane] = T.float32(0)
        for key in T.serial(T.min(T.int64(KEYS), n - chunk * KEYS)):
            for row in T.unroll(tiles.channels):
                for lane in T.vectorized(tiles.columns):
                    part[row, lane] += (
                        projections[0, channel_0 + row, chunk * KEYS + key] * scores[chunk * KEYS + key, lane]
                    )
        for row in T.unroll(tiles.channels):
            for lane in T.vectorized(tiles.columns):
                total[row, lane] += part[row, lane]


@T.inline
def _store(total: Any, scale: Any, context: Any, channel_0: Any, tiles: Any, first: Any, n: Any) -> None:
    """Writes total * scale to the time steps from `first`, as far as they exist."""
    for row in T.unroll(tiles.channels):
        for lane in T.vectorized(tiles.columns):
            total[row, lane] = total[row, lane] * scale[lane]
    if n >= tiles.columns:
        for row in T.unroll(tiles.channels):
            for lane in T.vectorized(tiles.columns):
                context[0, channel_0 + row, first + lane] = total[row, lane]
    else:
        for row in T.serial(tiles.channels):
            for time in T.serial(n):
                context[0, channel_0 + row, time] = total[row, time]


def self_attention(heads: int, head_size: int, tiles: Tiles) -> PrimFunc:
    """Attention of all heads without a mask: softmax(query . key / sqrt(head_size)) . value.

    Buffers, float32: projections [1, 3 * heads * head_size, n], the output of one fused linear layer (all
    heads' queries, then keys, then values); context [1, heads * head_size, n].
    A job is one head and one block of queries. The last block overlaps its neighbour rather than pass the
    end: queries that both have are computed twice, with equal results.

    Args:
        heads: number of heads.
        head_size: channels of a head, a multiple of `tiles.channels`.
        tiles: register tiles of the CPU level; a job takes `tiles.columns` queries.

    Raises:
        ValueError: `head_size` is not a multiple of `tiles.channels`.
    """
    if head_size <= 0 or head_size % tiles.channels:
        raise ValueError(f"attention needs a head size in multiples of {tiles.channels}, found {head_size}")
    hidden = heads * head_size
    queries, rows = tiles.columns, tiles.channels

    n = length()

    @kernel(projections=(1, 3 * hidden, n), context=(1, hidden, n))
    def attention(projections: Any, context: Any) -> None:
        for job in T.parallel(T.floordiv(n + (queries - 1), queries) * heads):
            channel_0: T.let = T.floordiv(job, T.floordiv(n + (queries - 1), queries)) * head_size
            block: T.let = T.floormod(job, T.floordiv(n + (queries - 1), queries))
            first: T.let = T.max(T.min(block * queries, n - queries), T.int64(0))
            query = T.alloc_buffer((head_size, queries), "float32")
            scores = T.alloc_buffer((n + (rows - 1), queries), "float32")
            highest = T.alloc_buffer((queries,), "float32", scope="local")
            scale = T.alloc_buffer((queries,), "float32", scope="local")
            _load_queries(projections, query, channel_0, (head_size, queries), first, n)
            _score(projections, query, scores, highest, hidden + channel_0, head_size, tiles, n)
            _exponentiate(scores, highest, scale, queries, n)
            for group in T.serial(head_size // rows):
                total = T.alloc_buffer((rows, queries), "float32", scope="local")
                _weigh_values(projections, scores, total, 2 * hidden + channel_0 + group * rows, tiles, n)
                _store(total, scale, context, channel_0 + group * rows, tiles, first, n)

    return attention
