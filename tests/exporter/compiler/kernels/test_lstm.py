"""The LSTM kernel against torch.nn.LSTM in float64, on each CPU level of this machine."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from exporter.compiler.kernels import lstm
from tests.support.kernels.on_cpu import (
    LEVELS,
    TILES,
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    build,
    call,
    every_level,
    relative_error,
)

HIDDEN = 32


def run(level: str, gates: Array, forward: Array, backward: Array) -> Array:
    hidden, length = forward.shape[1], gates.shape[2]
    kernel = build(level, lstm.bidirectional_lstm, hidden, TILES[level], forward.dtype.name)
    return call(kernel, (1, 2 * hidden, length), gates, lstm.pack_recurrent(forward, backward))


def random_layer(hidden: int, length: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Gates [1, 8 * hidden, length] and both directions' recurrent weights."""
    random = np.random.default_rng([seed, hidden, length])
    bound = hidden**-0.5
    forward, backward = random.uniform(-bound, bound, (2, 4 * hidden, hidden)).astype(np.float32)
    return random.standard_normal((1, 8 * hidden, length), np.float32), forward, backward


def torch_lstm(gates: Array, forward: Array, backward: Array) -> NDArray[np.float64]:
    """torch.nn.LSTM whose input projection passes the gates through, over a longer, packed sequence."""
    hidden, length = forward.shape[1], gates.shape[2]
    layer = torch.nn.LSTM(8 * hidden, hidden, batch_first=True, bidirectional=True, bias=False).double()
    selection = torch.eye(8 * hidden, dtype=torch.float64)
    values = (
        selection[: 4 * hidden],
        torch.from_numpy(forward),
        selection[4 * hidden :],
        torch.from_numpy(backward),
    )
    padded = torch.full((1, length + 5, 8 * hidden), 1e9, dtype=torch.float64)
    padded[:, :length] = torch.from_numpy(gates).transpose(1, 2)
    with torch.no_grad():
        for parameter, value in zip(layer.parameters(), values, strict=True):
            parameter.copy_(value)
        packed, _ = layer(pack_padded_sequence(padded, torch.tensor([length]), batch_first=True))
    states: NDArray[np.float64] = pad_packed_sequence(packed, batch_first=True)[0].transpose(1, 2).numpy()
    return states


def unpack(packed: Array) -> Array:
    """The inverse of pack_recurrent: [2, 4 * hidden, hidden]."""
    directions, blocks, hidden, _ = packed.shape
    gates = packed.reshape(directions, blocks, hidden, 4, lstm.UNITS).transpose(0, 3, 1, 4, 2)
    return gates.reshape(directions, 4 * hidden, hidden)


@every_level
@pytest.mark.parametrize(
    ("hidden", "length"),
    [(HIDDEN, 2), (HIDDEN, 17), *((256, length) for length in (2, 3, 12, 15, 16, 17, 62, 200))],
)
@pytest.mark.parametrize("stored", ["float32", "float16"])
def test_states_are_those_of_torch_over_a_packed_sequence(
    level: str, hidden: int, length: int, stored: str
) -> None:
    gates, *weights = random_layer(hidden, length)
    layer = gates, *(weight.astype(stored) for weight in weights)
    expected = torch_lstm(*layer)
    assert relative_error(run(level, *layer), expected) <= 1e-6


@every_level
@settings(max_examples=20)
@given(length=st.integers(2, 70))
def test_directions_mirror_each_other_to_the_bit(level: str, length: int) -> None:
    gates, forward, backward = random_layer(HIDDEN, length)
    mirrored = np.concatenate(np.split(gates[:, :, ::-1], 2, axis=1)[::-1], axis=1)
    states = run(level, gates, forward, backward)
    first, last = np.split(run(level, np.ascontiguousarray(mirrored), backward, forward), 2, axis=1)
    np.testing.assert_array_equal(states, np.concatenate([last, first], axis=1)[:, :, ::-1])


@every_level
@settings(max_examples=10)
@given(length=st.integers(2, 40), longer=st.integers(1, 40))
def test_forward_states_do_not_depend_on_what_follows(level: str, length: int, longer: int) -> None:
    gates, forward, backward = random_layer(HIDDEN, length + longer)
    whole = run(level, gates, forward, backward)
    part = run(level, np.ascontiguousarray(gates[:, :, :length]), forward, backward)
    np.testing.assert_array_equal(part[:, :HIDDEN], whole[:, :HIDDEN, :length])


@every_level
@pytest.mark.parametrize("length", [2, 16, 37])
def test_nan_left_in_workspaces_changes_no_bit(level: str, length: int) -> None:
    gates, *weights = random_layer(HIDDEN, length)
    assert_nothing_is_left_in_workspaces(lambda values: run(level, values, *weights), gates)


@every_level
def test_saturated_gates_give_finite_states(level: str) -> None:
    gates, forward, backward = random_layer(HIDDEN, 20)
    states = run(level, gates * np.float32(1e4), forward, backward)
    assert np.abs(states).max() <= 1


@pytest.mark.parametrize("stored", ["float32", "float16"])
def test_number_of_threads_changes_no_bit(stored: str) -> None:
    gates, *weights = random_layer(HIDDEN, 37)
    layer = gates, *(weight.astype(stored) for weight in weights)
    assert_threads_change_no_bit(lambda: run(LEVELS[-1], *layer))


@given(hidden=st.sampled_from([16, 32, 80]), seed=st.integers(0, 99))
def test_packing_loses_nothing(hidden: int, seed: int) -> None:
    _, forward, backward = random_layer(hidden, 1, seed)
    np.testing.assert_array_equal(
        unpack(lstm.pack_recurrent(forward, backward)), np.stack([forward, backward])
    )


@pytest.mark.parametrize("hidden", [0, 8, 24])
def test_hidden_sizes_that_blocks_do_not_divide_are_refused(hidden: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 16 hidden units, found {hidden}"):
        lstm.bidirectional_lstm(hidden, TILES[LEVELS[0]])
