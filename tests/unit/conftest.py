"""Bundles that take seconds to make, once for all tests of this directory."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.bundle import write_bundle
from tests.unit.gpu_testing import Gpu
from tests.unit.test_speaking import compiled_libraries
from tests.unit.tiny_bundle import contents


@pytest.fixture(scope="session")
def speaking_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the tiny model that speaks; never to be written to."""
    directory = tmp_path_factory.mktemp("speaking")
    tvm = importlib.util.find_spec("tvm")
    assert tvm is not None and tvm.origin is not None
    runtime = Path(tvm.origin).parent / "lib" / "libtvm_runtime.so"
    return write_bundle(directory / "bundle", contents(compiled_libraries(directory), runtime))


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    """Devices that are played on the CPU."""
    with ExitStack() as stack:
        yield Gpu(tmp_path_factory.mktemp("gpu"), stack)
