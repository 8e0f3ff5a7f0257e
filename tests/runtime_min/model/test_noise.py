"""The noise: its stream is the one that FORMAT.md specifies, and it is Gaussian."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.model.noise import gaussian_noise
from tests.support.paths import ROOT

SEEDS = st.integers(0, (1 << 64) - 1)
MASK = (1 << 64) - 1


def philox_block(seed: int, counter: int) -> list[int]:
    """Philox4x64-10 as Salmon et al. define it ("Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    words, keys = [counter, 0, 0, 0], [seed, 0]
    for round_number in range(10):
        if round_number:
            keys = [(keys[0] + 0x9E3779B97F4A7C15) & MASK, (keys[1] + 0xBB67AE8584CAA73B) & MASK]
        first, second = words[0] * 0xD2E7470EE14C6C93, words[2] * 0xCA5A826395121157
        words = [
            (second >> 64) ^ words[1] ^ keys[0],
            second & MASK,
            (first >> 64) ^ words[3] ^ keys[1],
            first & MASK,
        ]
    return words


def specified_noise(seed: int, count: int) -> np.ndarray:
    """The noise with nothing but Python's integers and its math module."""
    # The counter is raised before a block is made, so the first block is number 1.
    words = [word >> 11 for block in range(count // 4 + 1) for word in philox_block(seed, block + 1)]
    numbers = []
    for a, b in zip(words[0::2], words[1::2], strict=True):
        radius, angle = math.sqrt(-2 * math.log((a + 1) / 2**53)), 2 * math.pi * b / 2**53
        numbers += [radius * math.cos(angle), radius * math.sin(angle)]
    return np.array(numbers[:count], np.float32)


@given(SEEDS, st.integers(0, 50))
def test_the_stream_is_the_specified_one(seed: int, count: int) -> None:
    # The sine of another C library may differ in the last bit.
    np.testing.assert_allclose(
        gaussian_noise(seed, count), specified_noise(seed, count), rtol=3e-7, atol=1e-12
    )


FORMAT = ROOT / "bundles" / "FORMAT.md"
ROW = re.compile(r"^\| (0|1|2\^64 − 1) \| (`[0-9a-f` ]+`) \| ([0-9.− ]+) \|$", re.MULTILINE)
VECTORS = ROW.findall(FORMAT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector[0])
def test_the_vectors_of_the_specification_hold(vector: tuple[str, str, str]) -> None:
    seed = {"0": 0, "1": 1, "2^64 − 1": (1 << 64) - 1}[vector[0]]
    words = [int(word, 16) for word in vector[1].replace("`", "").split()]
    numbers = [float(number) for number in vector[2].replace("−", "-").split()]
    assert np.random.Philox(key=seed).random_raw(len(words)).tolist() == words == philox_block(seed, 1)
    np.testing.assert_allclose(gaussian_noise(seed, len(numbers)), numbers, rtol=1e-7)


def test_the_specification_has_vectors_for_the_ends_of_the_range() -> None:
    assert [vector[0] for vector in VECTORS] == ["0", "1", "2^64 − 1"]


@given(SEEDS, st.integers(0, 300), st.integers(0, 300))
def test_a_longer_stream_begins_with_the_shorter(seed: int, short: int, more: int) -> None:
    np.testing.assert_array_equal(gaussian_noise(seed, short + more)[:short], gaussian_noise(seed, short))


def test_type_and_shape_are_as_promised() -> None:
    for count in (0, 1, 2, 7):
        noise = gaussian_noise(3, count)
        assert noise.dtype == np.float32
        assert noise.shape == (count,)


@pytest.mark.parametrize("seed", [0, 1, 12345, (1 << 64) - 1])
def test_the_moments_are_those_of_a_unit_gaussian(seed: int) -> None:
    count = 400_000
    noise = gaussian_noise(seed, count).astype(np.float64)
    # Five standard errors of each moment's estimate.
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((noise**power).mean() - moment) < 5 * math.sqrt(variance / count)


def test_neighbours_and_seeds_are_not_correlated() -> None:
    count = 400_000
    noise, other = gaussian_noise(0, count), gaussian_noise(1, count)
    bound = 5 / math.sqrt(count)
    for lag in (1, 2, 3, 4, 600):
        assert abs(np.mean(noise[lag:] * noise[:-lag])) < bound
    assert abs(np.mean(noise * other)) < bound
