"""Bundles that take seconds to make, once for all tests of this directory."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.bundle import write_bundle
from tests.unit.gpu_testing import Gpu
from tests.unit.speaking import compiled_libraries
from tests.unit.tiny_bundle import contents, dummy_contents


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The tiny model's compiled stages by name."""
    return compiled_libraries(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="session")
def runtime_library() -> Path:
    """TVM's own."""
    spec = importlib.util.find_spec("tvm")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "lib" / "libtvm_runtime.so"


@pytest.fixture(scope="session")
def speaking_bundle(
    libraries: dict[str, Path], runtime_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bundle of the tiny model that speaks; never to be written to."""
    place = tmp_path_factory.mktemp("speaking") / "bundle"
    return write_bundle(place, contents(libraries, runtime_library))


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose libraries hold nothing; never to be written to."""
    directory = tmp_path_factory.mktemp("attacks")
    return write_bundle(directory / "sound", dummy_contents(directory))


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    """Devices that are played on the CPU."""
    with ExitStack() as stack:
        yield Gpu(tmp_path_factory.mktemp("gpu"), stack)
