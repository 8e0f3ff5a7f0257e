"""The attention kernel against torch's in float64, on each CPU level of this machine."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch.nn.functional import scaled_dot_product_attention

from exporter.compiler.kernels import attention
from exporter.compiler.kernels.tiles import AVX2
from tests.support.kernels import on_cpu
from tests.support.kernels.on_cpu import (
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
)

HEADS, HEAD_SIZE = 3, 16


def run(projections: Array, heads: int = HEADS) -> Array:
    hidden, length = projections.shape[1] // 3, projections.shape[2]
    sizes = (heads, hidden // heads)
    return on_cpu.run(attention.self_attention, sizes, (1, hidden, length), projections, tiled=True)


def random_projections(length: int, hidden: int = HEADS * HEAD_SIZE) -> Array:
    return np.random.default_rng([hidden, length]).standard_normal((1, 3 * hidden, length), np.float32)


def torch_attention(projections: Array, heads: int) -> NDArray[np.float64]:
    hidden, length = projections.shape[1] // 3, projections.shape[2]
    parts = (
        torch.from_numpy(projections).double().reshape(3, 1, heads, hidden // heads, length).transpose(3, 4)
    )
    context = scaled_dot_product_attention(*parts).transpose(2, 3).reshape(1, hidden, length)
    result: NDArray[np.float64] = context.numpy()
    return result


@pytest.mark.parametrize("length", [2, 3, 8, 15, 16, 17, 31, 32, 33, 62, 64, 65, 105, 512])
def test_context_is_that_of_torch(length: int) -> None:
    projections = random_projections(length, hidden=768)
    expected = torch_attention(projections, heads=12)
    difference = (run(projections, heads=12) - expected) / np.sqrt(np.mean(expected**2))
    assert np.abs(difference).max() <= 1e-5
    assert np.sqrt(np.mean(difference**2)) <= 5e-7


@settings(max_examples=20)
@given(length=st.integers(2, 140))
def test_equal_scores_give_the_mean_of_the_values(length: int) -> None:
    projections = random_projections(length)
    projections[:, : HEADS * HEAD_SIZE] = 0
    mean = projections[:, 2 * HEADS * HEAD_SIZE :].mean(axis=2, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(run(projections), np.repeat(mean, length, axis=2), rtol=0, atol=1e-6)


@settings(max_examples=20)
@given(length=st.integers(2, 70), data=st.data())
def test_one_overwhelming_key_gives_its_value_to_the_bit(length: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, length - 1))
    projections = random_projections(length)
    query, key, value = np.split(projections, 3, axis=1)
    query[:], key[:] = 1000, -1000
    key[:, :, chosen] = 1000
    np.testing.assert_array_equal(run(projections), np.repeat(value[:, :, chosen, None], length, axis=2))


@settings(max_examples=20)
@given(length=st.integers(2, 70), data=st.data())
def test_a_query_sees_only_itself_and_all_keys(length: int, data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, length - 1))
    projections = random_projections(length)
    before = run(projections)
    projections[:, : HEADS * HEAD_SIZE, changed] = 1e9
    after = run(projections)
    others = np.arange(length) != changed
    np.testing.assert_array_equal(after[:, :, others], before[:, :, others])


@pytest.mark.parametrize("length", [2, 13, 33, 62])
def test_nothing_past_the_last_key_reaches_the_softmax(length: int) -> None:
    # Each row of keys is followed by the next row's first key, whose channels then look shifted by one: that
    # vector would score 4e5 here, and all true scores would vanish beside it.
    projections = random_projections(length)
    signs = np.resize(np.float32([1, -1]), HEADS * HEAD_SIZE)
    query, key, _ = np.split(projections[0], 3)
    query[:], key[:, 0] = -signs[:, None], 1e5 * signs
    expected = torch_attention(projections, HEADS)
    np.testing.assert_allclose(run(projections), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("length", [2, 13, 32, 45])
def test_nan_left_in_workspaces_changes_no_bit(length: int) -> None:
    assert_nothing_is_left_in_workspaces(run, random_projections(length))


def test_number_of_threads_changes_no_bit() -> None:
    projections = random_projections(62)
    assert_threads_change_no_bit(lambda: run(projections))


@pytest.mark.parametrize("head_size", [0, 6, 65])
def test_head_sizes_that_tiles_do_not_divide_are_refused(head_size: int) -> None:
    with pytest.raises(ValueError, match=f"multiples of 4, found {head_size}"):
        attention.self_attention(12, head_size, AVX2)
