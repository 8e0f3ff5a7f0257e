"""Resampling kernels against torch's strided and transposed convolutions, on each CPU level."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from exporter.compiler.kernels import phases
from tests.support.kernels.on_cpu import (
    Array,
    assert_nothing_is_left_in_workspaces,
    assert_threads_change_no_bit,
    relative_error,
    run,
)

CHANNELS = 4
# The generator's three: both upsamplers and the strided convolution of the source.
STRIDES = [(10, 5, False), (6, 3, True), (6, 3, False)]
every_stride = pytest.mark.parametrize(("stride", "padding", "reflect"), STRIDES)
lengths = st.integers(2, 70)
LIMIT = 1e-6
"""Few products are summed: measured are 3e-7."""


def random_signal(rows: int, columns: int) -> Array:
    return np.random.default_rng([rows, columns]).standard_normal((1, rows, columns), np.float32)


def interleave(parts: Array, addend: Array, stride: int, padding: int, reflect: bool) -> Array:
    return run(phases.interleave, (addend.shape[2], stride, padding, reflect), addend.shape, parts, addend)


def fold(x: Array, stride: int, padding: int, extra: int) -> Array:
    channels, length = x.shape[1:]
    shape = (1, stride * channels, (length - extra) // stride + 1)
    return run(phases.fold, (channels, stride, padding, extra), shape, x)


@every_stride
@settings(max_examples=15)
@given(length=lengths)
def test_interleaved_phases_are_the_transposed_convolution(
    stride: int, padding: int, reflect: bool, length: int
) -> None:
    x = torch.from_numpy(random_signal(3, length)).double()
    weight = (
        torch.from_numpy(random_signal(CHANNELS, 3 * 2 * stride)).double().reshape(3, CHANNELS, 2 * stride)
    )
    expected = functional.conv_transpose1d(x, weight, stride=stride, padding=padding)
    if reflect:
        expected = functional.pad(expected, (1, 0), mode="reflect")
    # Tap `stride + phase` meets the sample before, tap `phase` the sample itself.
    taps = weight.permute(2, 1, 0).reshape(2, stride * CHANNELS, 3, 1).unbind()
    parts = functional.pad(functional.conv1d(x, taps[0]), (0, 1))
    parts = parts + functional.pad(functional.conv1d(x, taps[1]), (1, 0))
    addend = random_signal(expected.shape[2], CHANNELS)
    y = interleave(parts.float().mT.contiguous().numpy(), addend, stride, padding, reflect)
    assert relative_error(y, expected.mT.numpy() + addend) <= LIMIT


@every_stride
@settings(max_examples=15)
@given(length=lengths)
def test_interleaving_only_moves_and_adds(stride: int, padding: int, reflect: bool, length: int) -> None:
    parts = random_signal(length + 1, stride * CHANNELS)
    joined = parts.reshape(1, -1, CHANNELS)[:, padding : padding + length * stride]
    if reflect:
        joined = np.concatenate([joined[:, 1:2], joined], axis=1)
    addend = random_signal(joined.shape[1], CHANNELS)
    y = interleave(parts, addend, stride, padding, reflect)
    np.testing.assert_array_equal(y, joined + addend)


@pytest.mark.parametrize("extra", [0, 1])
@settings(max_examples=15)
@given(length=lengths)
def test_folded_phases_are_the_strided_convolutions_input(extra: int, length: int) -> None:
    stride, padding = 6, 3
    x = random_signal(CHANNELS, stride * length + extra)
    folded = fold(x, stride, padding, extra)
    weight = torch.from_numpy(random_signal(CHANNELS, 2 * stride)).double().reshape(1, CHANNELS, 2, stride)
    expected = functional.conv1d(
        torch.from_numpy(x).double(), weight.flatten(2), stride=stride, padding=padding
    )
    dense = weight.permute(0, 3, 1, 2).reshape(1, stride * CHANNELS, 2)
    found = functional.conv1d(torch.from_numpy(folded).double(), dense)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-12)


def pool_arguments(length: int) -> tuple[Array, ...]:
    random = np.random.default_rng(length)
    affine = random.uniform(0.5, 1.5, (3, CHANNELS)).astype(np.float32)
    weight, bias = (
        random.standard_normal((CHANNELS, 3), np.float32),
        random.standard_normal(CHANNELS, np.float32),
    )
    return random_signal(CHANNELS, length), affine, weight, bias


def pool(*arguments: Array) -> Array:
    shape = (1, CHANNELS, 2 * arguments[0].shape[2])
    return run(phases.upsample_pool, (CHANNELS, 0.2), shape, *arguments)


@settings(max_examples=15)
@given(length=lengths)
def test_upsampling_is_the_grouped_transposed_convolution(length: int) -> None:
    arguments = pool_arguments(length)
    x, affine, weight, bias = (torch.from_numpy(value).double() for value in arguments)
    mean, scale, shift = affine[:, None, :, None]
    activated = functional.leaky_relu((x - mean) * scale + shift, 0.2)
    expected = functional.conv_transpose1d(activated, weight[:, None], bias, 2, 1, 1, CHANNELS)
    assert relative_error(pool(*arguments), expected.numpy()) <= LIMIT


@settings(max_examples=15)
@given(length=lengths)
def test_halving_is_the_strided_convolution(length: int) -> None:
    x, weight, bias = random_signal(1, 2 * length)[0], random_signal(1, 3)[0, 0], random_signal(1, 1)[0, 0]
    wide = (torch.from_numpy(value).double() for value in (x[None], weight[None, None], bias))
    expected = functional.conv1d(*wide, stride=2, padding=1).numpy()
    y = run(phases.halve, (), (1, 1, length), x, weight, bias)
    assert relative_error(y, expected) <= LIMIT


def all_results() -> Array:
    """The outputs of each kernel for one input, one after the other."""
    results = [
        interleave(random_signal(34, 6 * CHANNELS), random_signal(199, CHANNELS), 6, 3, True),
        fold(random_signal(CHANNELS, 199), 6, 3, 1),
        pool(*pool_arguments(33)),
    ]
    return np.concatenate([result.reshape(-1) for result in results])


def test_neither_threads_nor_what_workspaces_held_change_a_bit() -> None:
    assert_threads_change_no_bit(all_results)
    assert_nothing_is_left_in_workspaces(pool, *pool_arguments(33))
