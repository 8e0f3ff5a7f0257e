"""Parts of the native runtime beside those of the Python runtime: digests, noise, and machines."""

from __future__ import annotations

import hashlib
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.compiler.kernels.winograd_schemes import SCHEMES
from runtime_min.engine import machine
from runtime_min.errors import CpuLevelError
from runtime_min.format.manifest import CpuLevel
from runtime_min.format.transforms import loaded
from runtime_min.model.noise import gaussian_noise
from tests.support.native.probe import Probe, field


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe("core_probe", tmp_path_factory.mktemp("probe"))


@pytest.mark.parametrize("path", ["scalar", "best"])
def test_digests_are_those_of_hashlib(probe: Probe, path: str) -> None:
    random = Random(0)
    inputs = [(random.randrange(1, 300), random.randbytes(size)) for size in [*range(260), 4096, 100_000]]
    found = probe.ask([f"{path} {size} {data.hex() or '-'}" for size, data in inputs])
    assert found == [hashlib.sha256(data).hexdigest() for _, data in inputs]


@pytest.mark.parametrize("count", [20_000, pytest.param(20_000_000, marks=pytest.mark.slow)])
def test_noise_is_that_of_numpy_to_the_bit(probe: Probe, count: int) -> None:
    seeds = [0, 1, 2**64 - 1, 0x9E3779B97F4A7C15]
    found = probe.ask([f"noise {seed} {count + odd}" for odd, seed in enumerate(seeds)])
    assert found == [
        hashlib.sha256(gaussian_noise(seed, count + odd).tobytes()).hexdigest()
        for odd, seed in enumerate(seeds)
    ]


@pytest.mark.parametrize("count", SCHEMES)
def test_weights_are_transformed_to_pythons_bits(probe: Probe, count: int) -> None:
    """All finite float16 numbers are among the taps, and with them products that float16 cannot hold."""
    matrix = np.array(SCHEMES[count].matrix)
    bits = np.arange(1 << 16).astype(np.uint16)
    finite = np.random.default_rng(count).permutation(bits[np.isfinite(bits.view(np.float16))])
    size = len(finite) // count
    for scale in (1, 2.0**-14):
        taps = finite[: count * size].reshape(1, count, size, 1).view(np.float16)
        given = " ".join(map(str, (matrix * scale).view(np.uint64).ravel().tolist()))
        (answer,) = probe.ask([f"transform {len(matrix)} {count} {size} {given} {taps.tobytes().hex()}"])
        expected = loaded(taps, tuple(map(tuple, (matrix * scale).tolist())))
        np.testing.assert_array_equal(np.array(answer.split(), np.uint16), expected.view(np.uint16).ravel())


def test_a_struct_of_an_older_or_newer_header_is_read_as_far_as_both_know_it(probe: Probe) -> None:
    """The first version had 16 bytes, this library knows 24, and the caller fills 32."""
    sizes = {8: "201", 16: "5 0", 24: "5 6", 32: "201", 5000: "201"}
    assert probe.ask([f"struct {size} 5 6 7" for size in sizes]) == [*sizes.values()]
    assert probe.ask(["struct 32 5 6 0"]) == ["5 6"]


def test_a_library_waits_until_nothing_holds_its_memory(probe: Probe) -> None:
    library = bytes(range(256)) * 40
    found = probe.ask([f"library {attempts} {library.hex()}" for attempts in (0, 3, 30)])
    assert found == [hashlib.sha256(library).hexdigest()] * 2 + ["507"]


NAMES = st.sampled_from(["glibc", "macos", "windows", "", "glibc2"])
NUMBERS = st.lists(st.integers(0, 40).map(str) | st.sampled_from(["", "x", "1a"]), max_size=4).map(".".join)
VERSIONS = st.lists(st.tuples(NAMES, NUMBERS).map(" ".join) | NAMES, min_size=2, max_size=2)


@settings(max_examples=10)
@given(st.lists(VERSIONS, min_size=40, max_size=40))
def test_versions_are_compared_as_in_python(probe: Probe, pairs: list[list[str]]) -> None:
    found = probe.ask([f"version {field(one)} {field(other)}" for one, other in pairs])
    assert found == [str(int(machine._at_least(one, other))) for one, other in pairs]


@pytest.mark.parametrize("features", ["", "avx2 fma", "amx_bf16 amx_tile avx2"])
def test_a_level_runs_where_it_does_in_python(probe: Probe, features: str) -> None:
    """AMX's tiles take the system's permission, too."""
    levels = (CpuLevel("asked", tuple(features.split())), CpuLevel("plain", ()))
    known = frozenset(levels[0].features)
    best = machine.choose_level(levels, known).name
    try:
        asked = machine.choose_level(levels[:1], known, "asked").name
    except CpuLevelError as error:
        asked = str(error)
    assert probe.ask([f"level {features}"]) == [f"{best} {asked}"]


def test_the_features_of_all_cores_are_found(probe: Probe) -> None:
    texts = [
        "processor\t: 0\nflags\t\t: fpu avx avx2\n\nprocessor\t: 1\nflags\t\t: avx2 fpu sse\n",
        "Features\t: fp asimd\nother flags: x\nCPU part: 0xd0c\n",
        "flags:\nflags: avx\n",
        "",
        "no colon\nflags : a  b\tc\n",
    ]
    found = probe.ask([f"cpuinfo {field(text)}" for text in texts])
    assert [set(answer.split()) for answer in found] == [set(machine._parse_cpuinfo(text)) for text in texts]
