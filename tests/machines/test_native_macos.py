"""The native library for macOS, where it was not run: its file is what macOS loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.native.build import build_library, library_name
from tests.support.native.file_checks import check_mach_o

pytestmark = pytest.mark.machines


def test_it_needs_the_system_of_the_target_alone_and_is_the_same_again(tmp_path: Path) -> None:
    target = find_target("macos-arm64")
    libraries = [tmp_path / place / library_name(target) for place in ("one", "two")]
    for library in libraries:
        library.parent.mkdir()
        build_library(target, library)
    check_mach_o(libraries[0], target)
    assert libraries[0].read_bytes() == libraries[1].read_bytes()
