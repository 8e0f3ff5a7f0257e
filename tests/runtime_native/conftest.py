"""What the tests of programs in other languages share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.native import build
from runtime_min import Audio, Bundle
from tests.support.native.examples import TEXT


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the library and its header."""
    place = tmp_path_factory.mktemp("native")
    build.build_library(find_target("host"), place / build.LIBRARY)
    shutil.copy(build.HEADER, place)
    return place


@pytest.fixture(scope="session")
def complete_bundle(native: Path, reading_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that has the library, as an app gets it."""
    place = tmp_path_factory.mktemp("complete") / "bundle"
    shutil.copytree(reading_bundle, place)
    shutil.copytree(native, place / "native")
    return place


@pytest.fixture(scope="session")
def expected(reading_bundle: Path) -> Audio:
    """What Python makes of the text of the examples."""
    with Bundle.load(reading_bundle) as bundle, bundle.stream(TEXT) as stream:
        return Audio.join(stream)
