"""A bundle for aarch64, made on this machine, speaks under emulation and nowhere else."""

from __future__ import annotations

from pathlib import Path

import lief
import pytest

from exporter.compiler.link import required_libc
from exporter.compiler.targets import find_target
from exporter.native.build import LIBRARY
from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from runtime_min.format.verify import read_manifest
from tests.e2e.conftest import Export, assert_refused_here
from tests.e2e.test_clean_machine import HEAVY
from tests.support.emulation import bundle_server
from tests.support.emulation.bundle_server import EmulatedBundle
from tests.support.emulation.machine import EmulatedMachine
from tests.support.native import emulated_comparison
from tests.support.native.file_checks import check_elf
from tests.support.paths import ROOT
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import HELLO

pytestmark = [pytest.mark.e2e, pytest.mark.machines]

TARGET = find_target("linux-aarch64")
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6"}


# Kernels have tests of all types of weights there.
@pytest.fixture(
    scope="module",
    params=["float16", *(pytest.param(name, marks=pytest.mark.slow) for name in ("float32", "int8"))],
)
def precision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def shipped(export: Export, precision: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("shipped") / "bundle"
    options = ("--text-buckets", "32", "--frame-buckets", "64", "--precision", precision)
    done = export(output, "--target", TARGET.name, "--cpu-level", "all", "--native", *options)
    assert done.returncode == 0, done.stderr
    return output


def test_the_libraries_are_for_aarch64_with_an_old_glibc(shipped: Path) -> None:
    paths = sorted((shipped / "lib").rglob("*.so"))
    assert len(paths) == 6
    for path in paths:
        library = lief.ELF.parse(path)
        assert library.header.machine_type == lief.ELF.ARCH.AARCH64
        assert library.header.file_type == lief.ELF.Header.FILE_TYPE.DYN
        (stack,) = (each for each in library.segments if each.type == lief.ELF.Segment.TYPE.GNU_STACK)
        assert not stack.has(lief.ELF.Segment.FLAGS.X)
        # A library that calls nothing of the system's needs no version of it.
        assert required_libc([path]) <= (2, 28)
        assert (required_libc([path]) > (0, 0)) == bool(library.libraries)
        if path.name != TARGET.runtime.name:
            assert set(library.libraries) <= SYSTEM_LIBRARIES


def test_this_machine_says_in_one_sentence_that_the_bundle_is_for_another(
    shipped: Path, tmp_path: Path
) -> None:
    assert_refused_here(shipped, TARGET, tmp_path / "hello.wav")


def test_it_speaks_there_as_kokoro_speaks(shipped: Path, aarch64: EmulatedMachine, rounded: Kokoro) -> None:
    with aarch64.serving(Path(bundle_server.__file__), shipped) as ask:
        bundle = EmulatedBundle(shipped, read_manifest(shipped), ask)
        assert_speaks_as_kokoro(bundle, rounded, Utterance(HELLO, "af_heart", 2.0))
        assert not set(HEAVY) & set(bundle.modules())


def test_the_native_library_speaks_there_as_the_python_runtime_does(
    shipped: Path, aarch64: EmulatedMachine
) -> None:
    library = shipped / "native" / LIBRARY
    check_elf(library, TARGET)
    with aarch64.serving(Path(emulated_comparison.__file__), ROOT, shipped, library) as ask:
        # Two seconds of speech take ten minutes there; `test_native_aarch64` has streams, of a tiny model.
        ask(("compare", "ə", {"voice": "af_heart*0.7+am_adam*0.3", "speed": 2.0, "seed": 2**64 - 1}))
