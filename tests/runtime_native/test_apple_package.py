"""The package for Swift: its frameworks and what lies beside them, and what it calls of kokoro.h."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from exporter.compiler.link import LinkerMissingError, LinkError
from exporter.compiler.targets import find_target
from exporter.native import apple_package
from exporter.native.apple_package import BundleKindError, SwiftSourcesError, main, write_package
from exporter.native.bindings import HEADER, SWIFT, read_header, swift_enumeration
from exporter.native.build import build_library
from exporter.native.framework import framework_entry
from runtime_min.errors import DamagedFileError, OutputError
from runtime_min.format.verify import read_manifest
from tests.support.files import bytes_of
from tests.support.golden import GOLDEN

BUNDLE = GOLDEN / "module"
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((SWIFT / "Sources").rglob("*.swift")))
DECLARED = read_header(HEADER.read_text(encoding="utf-8"))


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Path], None]:
    """Writes a package; the library for macOS, which takes minutes, is a file of no use."""

    def link(target: object, name: str, objects: Sequence[Path], output: Path, install_name: str) -> None:
        output.write_text(f"{name} at {install_name}")

    monkeypatch.setattr(apple_package, "library_objects", lambda target: [])
    monkeypatch.setattr(apple_package, "link", link)
    return write_package


def test_the_package_has_a_framework_for_each_system(
    write: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    write(BUNDLE, tmp_path / "package")
    frameworks = tmp_path / "package" / "Kokoro.xcframework"
    for entry in plistlib.loads((frameworks / "Info.plist").read_bytes())["AvailableLibraries"]:
        place = frameworks / entry["LibraryIdentifier"]
        assert (place / entry["BinaryPath"]).is_file() and (place / entry["LibraryPath"]).is_dir()
        (processor,) = entry["SupportedArchitectures"]
        assert entry["LibraryIdentifier"] == f"{entry['SupportedPlatform']}-{processor}"
    assert (frameworks / "ios-arm64" / "Kokoro.framework" / "Kokoro").read_bytes() == (
        BUNDLE / "native" / "Kokoro.framework" / "Kokoro"
    ).read_bytes()
    mac = frameworks / "macos-arm64" / "Kokoro.framework"
    assert os.readlink(mac / "Kokoro") == "Versions/Current/Kokoro"
    assert (mac / "Kokoro").read_text() == "Kokoro at @rpath/Kokoro.framework/Versions/A/Kokoro"
    information = plistlib.loads((mac / "Resources" / "Info.plist").read_bytes())
    assert information["LSMinimumSystemVersion"] == "13.0"
    assert (mac / "Headers" / "kokoro.h").read_bytes() == HEADER.read_bytes()


def test_an_app_has_all_other_files_of_the_bundle_among_its_resources(
    write: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    write(BUNDLE, tmp_path / "package")
    found = bytes_of(tmp_path / "package" / "resources")
    whole = bytes_of(BUNDLE)
    folder = read_manifest(BUNDLE).module
    assert folder is not None
    assert found == {path: content for path, content in whole.items() if not folder.holds(str(path))}
    assert len(whole) == len(found) + 2


def test_the_same_bundle_gives_the_same_package(write: Callable[[Path, Path], None], tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(BUNDLE, tmp_path / name)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_what_is_no_bundle_for_ios_is_refused(write: Callable[[Path, Path], None], tmp_path: Path) -> None:
    with pytest.raises(BundleKindError, match="linux-x86_64: expected one for ios-arm64"):
        write(GOLDEN / "whole", tmp_path / "package")
    copy = shutil.copytree(BUNDLE, tmp_path / "copy")
    (copy / "parameters.bin").write_bytes(b"0")
    with pytest.raises(DamagedFileError):
        write(copy, tmp_path / "package")
    assert not (tmp_path / "package").exists()
    with pytest.raises(SystemExit, match="expected one for ios-arm64"):
        main([str(GOLDEN / "whole"), "--output", str(tmp_path / "package")])


def test_without_a_clone_there_is_no_package(
    write: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apple_package, "SWIFT", tmp_path / "swift")
    with pytest.raises(SwiftSourcesError, match="in a clone of the repository"):
        write(BUNDLE, tmp_path / "package")


def test_nothing_is_replaced(write: Callable[[Path, Path], None], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OutputError, match="is not empty"):
        write(BUNDLE, tmp_path)
    assert os.listdir(tmp_path) == ["mine"]


def test_a_file_without_one_identity_is_an_error(tmp_path: Path) -> None:
    module, identity = tmp_path / "Kokoro", b"kokoro-module " + b"5" * 64
    module.write_bytes(b"\0" + identity + b"\0")
    assert framework_entry(find_target("ios-arm64"), module) == ("native/Kokoro.framework", "5" * 64)
    for content in (b"", 2 * identity):
        module.write_bytes(content)
        with pytest.raises(LinkError, match="should have one identity"):
            framework_entry(find_target("ios-arm64"), module)


def test_the_library_for_ios_is_not_built_without_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(LinkerMissingError, match=r"ios-arm64 is one module .*: export a bundle"):
        build_library(find_target("ios-arm64"), tmp_path / "libkokoro.dylib")


def test_swift_calls_every_function_of_the_header() -> None:
    called = set(re.findall(r"\b(kokoro_\w+)\(", SOURCES))
    structs = set(DECLARED.structs)
    # Its streams take piece by piece, and an app writes files.
    unused = {"kokoro_stream", "kokoro_write_wav"}
    assert called - structs == {each.name for each in DECLARED.functions} - unused


@pytest.mark.parametrize("struct", ["kokoro_options", "kokoro_request", "kokoro_audio", "kokoro_timing"])
def test_swift_uses_every_field_of_the_header(struct: str) -> None:
    fields = {each.name for each in DECLARED.structs[struct]}
    unused = {"steady"} if struct == "kokoro_request" else set[str]()
    assert fields - set(re.findall(r"made\.(\w+)", SOURCES)) == unused


def test_a_new_error_comes_to_swift() -> None:
    text = HEADER.read_text(encoding="utf-8").replace("508,", "508, KOKORO_HEAT_ERROR = 509,")
    made = swift_enumeration(read_header(text))
    assert "case heatError = 509" in made and 'case .heatError: return "HeatError"' in made
