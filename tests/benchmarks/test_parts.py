"""Parallel parts are counted from a kernel's own loops, and the balance from the parts alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm.script import tirx as T

from benchmarks.parts import Call, balance_table, parallel_parts
from exporter.compiler.kernels import winograd
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.tiles import tiles_of
from exporter.compiler.targets import find_target


@T.prim_func(private=True, s_tir=True)
def planned(x: T.Buffer((1, 8, T.int64(4)), "float32")):
    plan = T.alloc_buffer((2,), "int64")
    plan[0] = T.floordiv(T.int64(4) + T.int64(9), T.int64(3))
    plan[1] = T.if_then_else(plan[0] == T.int64(4), T.int64(5), T.int64(1))
    for _ in T.parallel(plan[0] * plan[1]):
        x[0, 0, 0] = T.float32(1)
    for row in T.serial(8):
        for _ in T.parallel(T.min(plan[1], T.int64(3)) + row):
            x[0, 0, 0] = T.float32(2)
    if plan[0] < T.int64(4):
        for _ in T.parallel(6):
            x[0, 0, 0] = T.float32(3)
    else:
        for _ in T.parallel(7):
            x[0, 0, 0] = T.float32(4)


def test_the_plan_of_a_kernel_is_followed_to_the_loops_that_are_parallel() -> None:
    assert parallel_parts(planned, [(1, 8, 4)]) == (20, 3, 7)


@pytest.mark.parametrize("length", [30, 7_000])
def test_the_parts_of_a_convolution_grow_with_the_utterance(length: int) -> None:
    spec = Convolution(128, 128, 3, padding=1, reads_channels_last=True, writes_channels_last=True)
    kernel = winograd.convolution(spec, tiles_of(find_target("host").levels[-1]))
    signal = (1, length, 128)
    shapes = [signal, *(tuple(map(int, each.shape)) for each in kernel.params[1:-1]), signal]
    (parts,) = parallel_parts(kernel, shapes)
    assert parts >= max(2, length / 500)


def call(work: int, *parts: int) -> Call:
    return Call("concatenate", (((work,), 1),), parts)


@given(st.integers(1, 300), st.integers(1, 20))
def test_the_busiest_thread_has_an_equal_number_of_parts_rounded_up(parts: int, threads: int) -> None:
    shares = [range(start, min(parts, start + math.ceil(parts / threads))) for start in range(parts)]
    assert call(1, parts).share(threads) == max(map(len, shares)) / parts
    assert call(1).share(threads) == 1
    assert call(1, parts, 1).share(threads) == (call(1, parts).share(threads) + 1) / 2


def test_a_family_is_as_balanced_as_its_work_and_small_families_are_left_out() -> None:
    found = [call(3_000, 4), call(1_000), Call("squeeze", (((1,), 1),), ())]
    table = balance_table(12, found)
    family, total = table.rows
    assert dict(zip(table.head, family, strict=True)) == {
        "family": "concatenate", "calls": "2", "fewest parts": "1", "most parts": "4", "2 threads": "0.80",
        "4 threads": "0.57", "8 threads": "0.29", "16 threads": "0.14",
    }  # fmt: skip
    assert total[:2] == ("all", "3")
