"""The package for Swift, compiled for Linux: the bits of Python, and no misuse harms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter.native.bindings import SWIFT
from exporter.native.build import LIBRARY
from runtime_min import Audio
from tests.support.native.compared import assert_speaks_as_python
from tests.support.native.examples import run, speak
from tests.support.native.swift import Swift, compiled_package, fetched_swift

pytestmark = pytest.mark.machines

CHECKS = re.findall(r'"(\w+)": \1', (SWIFT / "Tests" / "Speaking.swift").read_text("utf-8"))


@pytest.fixture(scope="module")
def swift() -> Swift:
    return fetched_swift()


@pytest.fixture(scope="module")
def package(swift: Swift, native: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the compiled package, its example and its checks."""
    place = tmp_path_factory.mktemp("swift")
    compiled_package(swift, place, native / LIBRARY)
    return place


def test_the_example_writes_the_file_that_python_writes(
    swift: Swift, package: Path, reading_bundle: Path, expected: Audio
) -> None:
    speak([*swift.command(package, "/work/Speak", reading_bundle), reading_bundle], package, expected)


@pytest.mark.parametrize("check", CHECKS)
def test_an_app_may_rely_on_it(swift: Swift, package: Path, reading_bundle: Path, check: str) -> None:
    command = [*swift.command(package, "/work/Speaking", reading_bundle), reading_bundle, check]
    assert run(command, package) == f"passed: {check}\n"


def test_speech_has_the_bits_and_times_of_python(swift: Swift, package: Path, reading_bundle: Path) -> None:
    assert_speaks_as_python(swift.command(package, "/work/Compared", reading_bundle), package, reading_bundle)
