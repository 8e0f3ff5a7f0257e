"""What the tests of programs in other languages share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.native import build
from runtime_min import Audio, Bundle
from tests.support.native.examples import TEXT
from tests.support.shared import made_once


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the library and its header."""

    def make(place: Path) -> None:
        build.build_library(find_target("host"), place / build.LIBRARY)
        shutil.copy(build.HEADER, place)

    return made_once(tmp_path_factory, "native", make)


@pytest.fixture(scope="session")
def complete_bundle(native: Path, reading_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that has the library, as an app gets it."""

    def make(place: Path) -> None:
        shutil.copytree(reading_bundle, place / "bundle")
        shutil.copytree(native, place / "bundle" / "native")

    return made_once(tmp_path_factory, "complete", make) / "bundle"


@pytest.fixture(scope="session")
def expected(reading_bundle: Path) -> Audio:
    """What Python makes of the text of the examples."""
    with Bundle.load(reading_bundle) as bundle, bundle.stream(TEXT) as stream:
        return Audio.join(stream)
