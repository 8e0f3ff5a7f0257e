"""Fixtures and settings of all tests: hypothesis, pytest-xdist, tiny bundles and emulated machines."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from exporter.bundle.write import BundleContents
from exporter.compiler.long_lived import long_lived
from exporter.text.files import LANGUAGES, text_files
from tests.support.emulation.machine import EmulatedMachine, fetched_machine
from tests.support.gpu import stand_in
from tests.support.paths import PROVING, ROOT
from tests.support.shared import bundle_made_once, made_once
from tests.support.tiny.bundle import contents, dummy_contents, reading
from tests.support.tiny.model import compiled_libraries, libraries_in
from tests.support.tiny.web import web_contents

if TYPE_CHECKING:
    from tests.support.kernels.on_gpu import Gpu

# Threads of torch and TVM that wait must sleep: spinning ones take the cores from other tests. Both read this
# when they are loaded, so nothing above imports them (`test_imports`).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", "0")
# A shell that starts the tests in the background has them ignore Ctrl-C, and with them what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is no failure, and the same commit gives the same result everywhere.
examples = 200 if PROVING else 50
settings.register_profile("kokoro-export", deadline=None, derandomize=True, max_examples=examples)
settings.load_profile("kokoro-export")


LONGEST = (
    *("tests/e2e/test_clean_machine.py", "tests/runtime_native/test_web.py"),
    *("tests/runtime_native/test_core.py", "tests/e2e/test_validation.py", "tests/e2e/"),
    # At the end the other processes would wait for them.
    *("tests/runtime_native/test_web_package.py", "tests/runtime_native/test_text_as_python.py"),
    "tests/runtime_native/test_speaking.py",
)
"""What is begun first, because it takes longest, and what needs the bundle that the first file exports."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the longest files to the beginning."""
    items.sort(
        key=lambda item: next((i for i, name in enumerate(LONGEST) if item.nodeid.startswith(name)), 9)
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leaves all modules out of garbage collection, which walks through them for a minute otherwise.

    While they are imported, it takes four seconds.
    """
    with long_lived():
        return (yield)


@pytest.fixture(scope="session")
def aarch64() -> EmulatedMachine:
    """A machine with another processor than this one."""
    return fetched_machine("aarch64")


@pytest.fixture(scope="session")
def x86_64() -> EmulatedMachine:
    """A machine whose processor can be chosen."""
    return fetched_machine("x86_64")


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The tiny model's compiled stages by name."""
    return libraries_in(made_once(tmp_path_factory, "libraries", compiled_libraries))


@pytest.fixture(scope="session")
def runtime_library() -> Path:
    """TVM's runtime."""
    return stand_in.runtime_library()


@pytest.fixture(scope="session")
def late_threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to preload, with which threads begin late and then find no memory."""
    library = tmp_path_factory.mktemp("shim") / "late_threads.so"
    source = ROOT / "tests" / "support" / "programs" / "late_threads.c"
    subprocess.run(["cc", source, "-O2", "-shared", "-fPIC", "-ldl", "-o", library], check=True)
    return library


@pytest.fixture(scope="session")
def speaking_bundle(
    libraries: dict[str, Path], runtime_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bundle of the tiny model that speaks; never to be written to."""
    return bundle_made_once(tmp_path_factory, "speaking", lambda _: contents(libraries, runtime_library))


@pytest.fixture(scope="session")
def reading_bundle(
    libraries: dict[str, Path], runtime_library: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A bundle of the tiny model that speaks text; several phonemes are one token. Never to be written to."""
    return bundle_made_once(
        tmp_path_factory, "reading", lambda _: reading(contents(libraries, runtime_library))
    )


@pytest.fixture(scope="session")
def web_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same bundle for the web; compiling the C library takes a minute the first time."""
    return bundle_made_once(tmp_path_factory, "web", lambda place: reading(web_contents(place)))


@pytest.fixture(scope="session")
def device_bundle(runtime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the tiny model that speaks, with three stages on a device that the CPU plays."""
    devices = dict.fromkeys(("duration", "text_encoder", "decoder"), "metal")

    def made(place: Path) -> BundleContents:
        libraries = compiled_libraries(place, *(f"{stage}={device}" for stage, device in devices.items()))
        return contents(libraries, runtime_library, {"metal": stand_in.build("metal")}, devices)

    return bundle_made_once(tmp_path_factory, "devices", made)


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose libraries hold nothing; never to be written to."""
    return bundle_made_once(tmp_path_factory, "sound", dummy_contents)


@pytest.fixture(scope="session")
def text_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the data for English and no stage that computes; never to be written to."""
    return bundle_made_once(
        tmp_path_factory, "text", lambda place: dummy_contents(place).extended(text_files(LANGUAGES))
    )


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpu]:
    """GPUs that the CPU stands in for."""
    from tests.support.kernels.on_gpu import Gpu

    with ExitStack() as stack:
        yield Gpu(tmp_path_factory.mktemp("gpu"), stack)
