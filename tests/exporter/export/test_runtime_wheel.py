"""TVM's runtime for another machine: taken from where it was named, checked, and kept."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.compiler.targets import RuntimeFile, find_target
from exporter.export import runtime_wheel
from exporter.export.runtime_wheel import RuntimeLibraryError, runtime_libraries

CONTENT = b"\x7fELF the runtime"
NAME = "libtvm_runtime.so"
TARGET = replace(find_target("linux-aarch64"), runtime=RuntimeFile(NAME, hashlib.sha256(CONTENT).hexdigest()))
DEVICE = RuntimeFile("libtvm_runtime_gpu.so", hashlib.sha256(b"of the device").hexdigest())
WITH_DEVICE = replace(TARGET, device_runtime=DEVICE)


def runtime_library(given: Path | None = None) -> Path:
    (library,) = runtime_libraries(TARGET, given).values()
    return library


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Stands for pip: has the wheels that are put into it, and counts how often it is asked."""
    wheels: list[Path] = []
    asked: list[list[str]] = []

    def run(command, **_):
        asked.append(command)
        for wheel in wheels:
            Path(command[command.index("--dest") + 1], wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0 if wheels else 1, "", "" if wheels else "no network")

    monkeypatch.setattr(runtime_wheel.subprocess, "run", run)
    return wheels, asked


def make_wheel(path: Path, content: bytes = CONTENT, **more: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in {NAME: content, **more}.items():
            wheel.writestr(f"tvm/lib/{name}", data)
    return path


def test_what_was_fetched_once_is_kept_and_fetched_again_when_it_is_damaged(tmp_path, registry):
    wheels, asked = registry
    wheels.append(make_wheel(tmp_path / "tvm.whl"))
    first, second = runtime_library(), runtime_library()
    assert first == second and first.name == "libtvm_runtime.so" and first.read_bytes() == CONTENT
    assert len(asked) == 1 and "manylinux_2_28_aarch64" in asked[0]
    assert [path.name for path in first.parent.iterdir()] == [first.name]
    first.write_bytes(b"damaged")
    assert runtime_library().read_bytes() == CONTENT
    assert len(asked) == 2


@pytest.mark.parametrize("is_wheel", [False, True])
def test_a_file_that_is_named_needs_no_network(tmp_path, registry, is_wheel):
    given = tmp_path / "given"
    make_wheel(given) if is_wheel else given.write_bytes(CONTENT)
    found = runtime_library(given)
    assert (found.name, found.read_bytes()) == ("libtvm_runtime.so", CONTENT)
    assert registry[1] == []


@pytest.mark.parametrize("named", [False, True])
def test_the_runtime_of_a_device_comes_from_the_same_wheel(tmp_path, registry, named):
    wheel = make_wheel(tmp_path / "tvm.whl", **{DEVICE.name: b"of the device"})
    registry[0].append(wheel)
    found = runtime_libraries(WITH_DEVICE, wheel if named else None)
    assert {name: path.read_bytes() for name, path in found.items()} == {
        NAME: CONTENT,
        DEVICE.name: b"of the device",
    }
    assert [path.name for path in found.values()] == list(found) == [NAME, DEVICE.name]
    assert len(registry[1]) == (0 if named else 1)
    assert runtime_libraries(WITH_DEVICE) == found and len(registry[1]) == (0 if named else 1)


def test_of_two_libraries_a_single_one_is_not_enough(tmp_path):
    (tmp_path / NAME).write_bytes(CONTENT)
    with pytest.raises(RuntimeLibraryError, match=r"expected the wheel of .* holds .*runtime\.so and .*gpu"):
        runtime_libraries(WITH_DEVICE, tmp_path / NAME)


@pytest.mark.parametrize("named", [False, True])
def test_another_file_than_the_tables_is_refused_and_not_kept(tmp_path, cache, registry, named):
    wheel = make_wheel(tmp_path / "tvm.whl", b"another")
    registry[0].append(wheel)
    with pytest.raises(RuntimeLibraryError, match=r"linux-aarch64: expected SHA-256 \w{64}, found \w{64}"):
        runtime_library(wheel if named else None)
    wheel = make_wheel(tmp_path / "device.whl", **{DEVICE.name: b"another"})
    with pytest.raises(RuntimeLibraryError, match=r"libtvm_runtime_gpu\.so of .* is not the runtime"):
        runtime_libraries(WITH_DEVICE, wheel)
    assert not cache.exists()


@pytest.mark.parametrize("content", [None, b"PK\x05\x06" + bytes(18)])
def test_a_file_without_the_library_is_named(tmp_path, content):
    given = tmp_path / "given.whl"
    if content is not None:
        given.write_bytes(content)
    with pytest.raises(RuntimeLibraryError, match=r"given\.whl could not be read .*apache-tvm=="):
        runtime_library(given)


def test_without_a_network_the_option_is_named():
    with pytest.raises(
        RuntimeLibraryError, match=r"manylinux_2_28_aarch64 elsewhere.*--runtime-library\.\nno"
    ):
        runtime_library()
