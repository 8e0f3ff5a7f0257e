"""The native runtime in a bundle: listed, able to speak, and the same bytes of the same sources."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.link import LinkerMissingError
from exporter.compiler.targets import find_target
from exporter.export.native_files import native_files
from exporter.native import build
from exporter.native.build import HEADER, build_library
from runtime_min.format.verify import verify_bundle
from tests.support.native.file_checks import check_elf
from tests.support.native.library import NativeLibrary
from tests.support.tiny.bundle import contents


def test_a_bundle_serves_c_as_well(libraries: dict[str, Path], runtime_library: Path, tmp_path: Path) -> None:
    made = contents(libraries, runtime_library).extended(native_files(find_target("host")))
    bundle = write_bundle(tmp_path / "bundle", made)
    listed = {entry.path: entry.sha256 for entry in verify_bundle(bundle).files}
    header = (bundle / "native" / "kokoro.h").read_bytes()
    assert header == HEADER.read_bytes()
    assert listed["native/kokoro.h"] == hashlib.sha256(header).hexdigest()
    library = NativeLibrary(bundle / "native" / "libkokoro.so")
    with library.loaded(bundle) as loaded:
        assert len(library.synthesize(loaded, "abc").samples)


def test_copies_in_one_process_load_their_own_files(speaking_bundle: Path, tmp_path: Path) -> None:
    """The loader takes a path that it has loaded for the same library, whoever has loaded it."""
    copies = [tmp_path / name for name in ("one", "other")]
    for copy in copies:
        build_library(find_target("host"), copy)
    one, other = map(NativeLibrary, copies)
    before, descriptor = stages_in_memory(), os.open(os.devnull, os.O_RDONLY)
    with one.loaded(speaking_bundle):
        alone = stages_in_memory() - before
        # In its place comes the file that a bundle keeps open, and so the others have the same numbers again.
        os.close(descriptor)
        with other.loaded(speaking_bundle):
            assert len(stages_in_memory() - before) == 2 * len(alone) > 0


def stages_in_memory() -> set[str]:
    """Returns the inodes of the compiled stages that this process has mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if "/memfd:lib/" in line}


def test_linking_again_gives_the_same_bytes_that_need_an_old_c_library_alone(tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "other"]
    for place in places:
        build_library(find_target("host"), place)
    assert places[0].read_bytes() == places[1].read_bytes()
    assert str(Path.home()).encode() not in places[0].read_bytes()
    check_elf(places[0], find_target("host"))


def test_an_exporter_without_the_sources_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "HEADER", tmp_path / "kokoro.h")
    with pytest.raises(LinkerMissingError, match="sources of the C library are not at"):
        build_library(find_target("host"), tmp_path / "library")


def test_a_target_without_a_native_runtime_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LinkerMissingError, match="no C library for metal-ios"):
        build_library(find_target("metal-ios"), tmp_path / "library")
