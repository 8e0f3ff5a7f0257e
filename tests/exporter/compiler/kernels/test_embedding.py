"""The embedding kernel: rows of a table, turned to channel-major order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from exporter.compiler.kernels.embedding import embedding
from tests.support.kernels.on_cpu import Array, assert_threads_change_no_bit, run

ROWS, CHANNELS, POSITIONS = 11, 6, 40


def tables(positions: int) -> tuple[Array, Array]:
    random = np.random.default_rng(positions)
    table = random.standard_normal((ROWS, CHANNELS), np.float32)
    return table, random.standard_normal((positions, CHANNELS) if positions else (1,), np.float32)


def look_up(token_ids: NDArray[np.int64], positions: int) -> Array:
    shape = (1, CHANNELS, token_ids.size)
    return run(embedding, (ROWS, CHANNELS, positions), shape, token_ids[None], *tables(positions))


@pytest.mark.parametrize("positions", [0, POSITIONS])
@settings(max_examples=25)
@given(ids=st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=POSITIONS))
def test_columns_are_the_tokens_rows_plus_those_of_their_positions(positions: int, ids: list[int]) -> None:
    table, position_table = tables(positions)
    expected = table[ids] + position_table[: len(ids)] if positions else table[ids]
    np.testing.assert_array_equal(look_up(np.array(ids), positions), expected.T[None])


def test_number_of_threads_changes_no_bit() -> None:
    token_ids = np.arange(33) % ROWS
    assert_threads_change_no_bit(lambda: look_up(token_ids, POSITIONS))
