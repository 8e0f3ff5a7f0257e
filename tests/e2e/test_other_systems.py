"""Bundles for macOS and Windows, made here: every library is checked, and those of Windows speak in Wine."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.compiler.targets import Target, find_target
from exporter.parity.answers import Kokoro
from exporter.reference.utterances import Utterance
from runtime_min.format.verify import read_manifest
from tests.e2e.conftest import Export, assert_refused_here
from tests.support.emulation.library_files import check_library, exported_by_wheels
from tests.support.emulation.windows import WindowsBundle, make_windows
from tests.support.proof import assert_speaks_as_kokoro
from tests.support.utterances import HELLO

pytestmark = [pytest.mark.e2e, pytest.mark.machines]

# One level is enough: those of Linux show that the others compute the same.
LEVELS = {"macos-arm64": "apple-m1", "windows-x86_64": "x86-64-v3"}


@pytest.fixture(scope="module")
def bundles(export: Export, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bundle for each target, by its name."""
    made = {}
    for name, level in LEVELS.items():
        made[name] = tmp_path_factory.mktemp(name) / "bundle"
        buckets = ("--text-buckets", "32", "--frame-buckets", "64")
        done = export(made[name], "--target", name, "--cpu-level", level, *buckets)
        assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(params=LEVELS)
def target(request: pytest.FixtureRequest) -> Target:
    return find_target(request.param)


def test_every_library_loads_there_beside_what_is_installed_there(
    bundles: dict[str, Path], target: Target, tmp_path: Path
) -> None:
    bundle, wheels = bundles[target.name], exported_by_wheels(target, tmp_path)
    manifest = read_manifest(bundle)
    libraries = [library.file for stage in manifest.stages for library in stage.libraries]
    assert len(libraries) == 5
    for file in libraries:
        check_library(bundle / file, target, wheels)
    assert target.runtime is not None
    assert manifest.runtime_library == f"lib/{target.runtime.name}"
    runtime = {entry.path: entry.sha256 for entry in manifest.files}[manifest.runtime_library]
    assert runtime == target.runtime.sha256
    assert manifest.target.minimum_os == target.minimum_os


def test_this_machine_says_in_one_sentence_that_the_bundle_is_for_another(
    bundles: dict[str, Path], target: Target, tmp_path: Path
) -> None:
    assert_refused_here(bundles[target.name], target, tmp_path / "hello.wav")


def test_windows_libraries_compute_there_what_kokoro_computes(
    bundles: dict[str, Path], kokoro: Kokoro, tmp_path: Path
) -> None:
    path = bundles["windows-x86_64"]
    bundle = WindowsBundle(path, read_manifest(path), make_windows(tmp_path))
    assert_speaks_as_kokoro(bundle, kokoro, Utterance(HELLO, "af_heart", 2.0))
