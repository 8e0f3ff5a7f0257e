"""The noise: its stream is the one that FORMAT.md specifies."""

from __future__ import annotations

import math
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_min.engine.vm import aligned
from runtime_min.model import noise as noise_module
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


@given(SEEDS, st.integers(0, 300))
def test_the_stream_is_the_specified_one(seed: int, count: int) -> None:
    noise = gaussian_noise(seed, count)
    assert noise.dtype == np.float32
    # The sine of another C library may differ in the last bit.
    np.testing.assert_allclose(noise, specified_noise(seed, count), rtol=3e-7, atol=1e-12)


@given(SEEDS, st.integers(0, 300), st.integers(1, 200))
def test_the_bits_do_not_depend_on_the_size_of_blocks(seed: int, count: int, pairs: int) -> None:
    expected = gaussian_noise(seed, count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_module, "_PAIRS", pairs)
        assert gaussian_noise(seed, count).tobytes() == expected.tobytes()


def test_long_noise_takes_no_memory_but_its_own() -> None:
    tracemalloc.start()
    try:
        noise = gaussian_noise(0, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < noise.nbytes + 1_000_000
    assert aligned(noise) is noise


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
