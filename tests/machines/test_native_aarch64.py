"""The native library for aarch64, under emulation: it speaks as the Python runtime does there, to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import find_target
from exporter.export.runtime_wheel import runtime_libraries
from exporter.native.build import LIBRARY, build_library
from tests.support.emulation.machine import Ask, EmulatedMachine
from tests.support.native import emulated_comparison
from tests.support.native.both_runtimes import utterances
from tests.support.native.file_checks import check_elf
from tests.support.paths import ROOT
from tests.support.tiny.bundle import MAX_PHONEMES
from tests.support.tiny.model import contents_with_levels

pytestmark = pytest.mark.machines

TARGET = find_target("linux-aarch64")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / LIBRARY
    build_library(TARGET, path)
    return path


@pytest.fixture(scope="module")
def ask(library: Path, aarch64: EmulatedMachine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    place = tmp_path_factory.mktemp("tiny")
    runtime = runtime_libraries(TARGET)["libtvm_runtime.so"]
    bundle = write_bundle(place / "bundle", contents_with_levels(place, TARGET, runtime))
    with aarch64.serving(Path(emulated_comparison.__file__), ROOT, bundle, library) as asking:
        yield asking


def test_it_needs_an_old_c_library_alone(library: Path) -> None:
    check_elf(library, TARGET)


def test_utterances_are_equal_to_the_bit(ask: Ask) -> None:
    for phonemes, options in utterances(200, MAX_PHONEMES):
        ask(("compare", phonemes, options))


def test_streams_are_equal_to_the_bit(ask: Ask) -> None:
    for phonemes, options in utterances(20, 8 * MAX_PHONEMES):
        ask(("compare_streams", phonemes, options))
