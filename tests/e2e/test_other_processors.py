"""One bundle on older processors: a lower CPU level speaks, or a sentence says what is lacking."""

from __future__ import annotations

import re
from pathlib import Path
from signal import SIGILL

import pytest

from exporter.compiler.targets import find_target
from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from runtime_min.engine.machine import _parse_cpuinfo, this_machine
from runtime_min.format.verify import read_manifest
from tests.support.emulation import bundle_server
from tests.support.emulation.bundle_server import EmulatedBundle
from tests.support.emulation.machine import ROOT, EmulatedMachine, ask_processor
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import phonemes_of

pytestmark = [pytest.mark.e2e, pytest.mark.machines]

V4, V3 = find_target("linux-x86_64").levels
# Of what x86-64-v3 needs, the part that is in x86-64-v2; Nehalem has that and nothing more.
V2 = {"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"}
SHORTEST = phonemes_of(3)

UNCHECKED = """
import sys
sys.path.insert(0, sys.argv[1] + "/runtime_min.pyz")
import runtime_min, runtime_min.loading
runtime_min.loading.choose_level = lambda levels, features, forced=None: levels[-1]
bundle = runtime_min.Bundle.load(sys.argv[1], verify=False)
print(bundle.level.name, flush=True)
bundle.synthesize(phonemes=sys.argv[2])
"""

AS_ON_WINDOWS = """
import sys
sys.path.insert(0, sys.argv[1])
from runtime_min.engine import machine as platform
print(*platform._cpu_features("windows"))
"""


@pytest.fixture(scope="module")
def haswell(x86_64: EmulatedMachine) -> EmulatedMachine:
    return x86_64.with_processor("Haswell")


@pytest.fixture(scope="module")
def nehalem(x86_64: EmulatedMachine) -> EmulatedMachine:
    return x86_64.with_processor("Nehalem")


def refusal(machine: EmulatedMachine, bundle: Path, output: Path, *options: str) -> str:
    """Returns the one line of error of a machine that cannot speak; asserts the exit code and no output."""
    done = machine.run(bundle / "runtime_min.pyz", "--phonemes", SHORTEST, "-o", output, *options)
    assert done.returncode == 5, done.stderr
    # qemu itself names features that have nothing to do with the levels and that it does not emulate.
    (line,) = (line for line in done.stderr.splitlines() if not line.startswith("qemu-"))
    assert not output.exists()
    return line


def lacking(line: str) -> dict[str, set[str]]:
    """The features that a refusal names, by level."""
    found = re.findall(r"(x86-64-v\d) needs ([^;.]*)", line)
    return {level: set(features.split(", ")) for level, features in found}


def test_the_processor_itself_tells_what_the_kernel_tells(tmp_path: Path) -> None:
    told = _parse_cpuinfo(ask_processor(tmp_path))
    assert told & set(V4.features) == this_machine().features & set(V4.features)


@pytest.mark.parametrize("processor", ["haswell", "nehalem"])
def test_numpy_tells_what_the_processor_tells(processor: str, request: pytest.FixtureRequest) -> None:
    machine: EmulatedMachine = request.getfixturevalue(processor)
    done = machine.run("-c", AS_ON_WINDOWS, ROOT)
    assert done.returncode == 0, done.stderr
    told = _parse_cpuinfo((machine.system / "proc" / "cpuinfo").read_text(encoding="utf-8"))
    assert set(done.stdout.split()) & set(V4.features) == told & set(V4.features)


def test_haswell_takes_the_level_without_avx512_and_speaks_as_kokoro_speaks(
    all_levels: Path, haswell: EmulatedMachine, kokoro: Kokoro
) -> None:
    with haswell.serving(Path(bundle_server.__file__), all_levels) as ask:
        bundle = EmulatedBundle(all_levels, read_manifest(all_levels), ask)
        assert bundle.level() == V3.name
        assert_speaks_as_kokoro(bundle, kokoro, Utterance(SHORTEST, "af_heart"))


def test_haswell_refuses_the_level_with_avx512_and_names_what_it_lacks(
    all_levels: Path, haswell: EmulatedMachine, tmp_path: Path
) -> None:
    line = refusal(haswell, all_levels, tmp_path / "short.wav", "--level", V4.name)
    assert lacking(line) == {V4.name: set(V4.features) - set(V3.features)}
    assert f"Ask for {V3.name}" in line


def test_nehalem_refuses_every_level_and_names_what_it_lacks(
    all_levels: Path, nehalem: EmulatedMachine, tmp_path: Path
) -> None:
    line = refusal(nehalem, all_levels, tmp_path / "short.wav")
    assert lacking(line) == {level.name: set(level.features) - V2 for level in (V4, V3)}


def test_without_the_refusal_nehalem_would_end_at_an_unknown_instruction(
    all_levels: Path, nehalem: EmulatedMachine
) -> None:
    done = nehalem.run("-c", UNCHECKED, all_levels, SHORTEST)
    assert (done.returncode, done.stdout) == (-SIGILL, f"{V3.name}\n"), done.stderr
