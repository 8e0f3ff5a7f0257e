"""Bundles for iOS: the framework is what iOS loads, and speaks in the same form on this machine."""

from __future__ import annotations

import plistlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.pack import pack_bundle
from exporter.bundle.write import write_bundle
from exporter.compiler.targets import find_target
from exporter.export.runtime_wheel import runtime_libraries
from exporter.native import ios
from exporter.native.apple_package import install_name, write_macos_framework
from exporter.native.build import HEADER
from exporter.native.framework import framework_files, identity_of, link_module
from runtime_min import Bundle
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.errors import DamagedFileError
from runtime_min.format.signatures import stage_names
from runtime_min.format.verify import read_manifest, verify_bundle
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.macos import Mac, made_phone
from tests.support.emulation.speaking import Request, spoken_here
from tests.support.native.both_runtimes import BothRuntimes, utterances
from tests.support.native.file_checks import CALLED_BY_STAGES, LIBSYSTEM, check_framework, check_mach_o
from tests.support.native.library import NativeError, NativeLibrary, NativeSpeech, native_library
from tests.support.tiny.bundle import BUCKETS, reading
from tests.support.tiny.model import contents_with_levels
from tests.support.tiny.one_module import FRAMEWORK, HERE, compiled, framework_contents

pytestmark = pytest.mark.machines

IOS, MACOS, LINUX = map(find_target, ("ios-arm64", "macos-arm64", "linux-x86_64"))
FOLDER = str(Path(FRAMEWORK).parent)
TEXT = "Hello, world! On 3 May she read it for $4.50. " * 3


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The stages of the tiny model for iOS."""
    return compiled(tmp_path_factory.mktemp("stages"), IOS.name)


@pytest.fixture(scope="module")
def module(stages: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ios") / "Kokoro"
    link_module(stages, IOS, path)
    return path


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The form of a bundle for iOS, for this machine."""
    place = tmp_path_factory.mktemp("here")
    return write_bundle(place / "bundle", reading(framework_contents(place, HERE, "here")))


@pytest.fixture(scope="module")
def library(bundle: Path) -> NativeLibrary:
    return NativeLibrary(bundle / FRAMEWORK)


@pytest.fixture
def resources(bundle: Path, tmp_path: Path) -> Path:
    """What an app has among its resources: the bundle without the framework."""
    copy = shutil.copytree(bundle, tmp_path / "resources")
    shutil.rmtree(copy / FOLDER)
    return copy


def test_the_framework_needs_ios_15_alone_and_is_the_same_again(
    module: Path, stages: list[Path], tmp_path: Path
) -> None:
    check_framework(module, IOS)
    link_module(stages, IOS, tmp_path / "Kokoro")
    assert (tmp_path / "Kokoro").read_bytes() == module.read_bytes()
    assert set(ios.FUNCTIONS) <= LIBSYSTEM | CALLED_BY_STAGES


def test_the_framework_for_macos_needs_macos_13_alone(tmp_path: Path) -> None:
    write_macos_framework(tmp_path / "Kokoro.framework")
    library = tmp_path / "Kokoro.framework" / "Versions" / "A" / "Kokoro"
    check_mach_o(library, MACOS, install_name())


def test_it_has_every_stage(module: Path) -> None:
    content = module.read_bytes()
    for name in stage_names(separate_source=False):
        for bucket in BUCKETS["frames" if name in ("f0n", "decoder") else "tokens"]:
            assert f"kokoro_{name}_{bucket}___tvm_ffi".encode() in content


def test_other_stages_are_another_identity(module: Path, stages: list[Path], tmp_path: Path) -> None:
    link_module(stages[1:], IOS, tmp_path / "Kokoro")
    assert identity_of(tmp_path / "Kokoro") != identity_of(module)


def test_what_lies_beside_the_module_is_what_xcode_reads() -> None:
    files = framework_files(IOS)
    information = plistlib.loads(files["Info.plist"])
    assert (information["CFBundleExecutable"], information["MinimumOSVersion"]) == ("Kokoro", "15.0")
    assert files[f"Headers/{HEADER.name}"] == HEADER.read_bytes()
    assert b"framework module Kokoro" in files["Modules/module.modulemap"]
    (used,) = plistlib.loads(files["PrivacyInfo.xcprivacy"])["NSPrivacyAccessedAPITypes"]
    assert used["NSPrivacyAccessedAPITypeReasons"] == ["C617.1"]


@pytest.fixture(scope="module")
def for_ios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle for iOS."""
    place = tmp_path_factory.mktemp("whole")
    return write_bundle(place / "bundle", reading(framework_contents(place, IOS, IOS.name)))


@pytest.fixture(scope="module")
def phone(for_ios: Path, aarch64: EmulatedMachine, tmp_path_factory: pytest.TempPathFactory) -> Mac:
    return made_phone(aarch64, for_ios / FRAMEWORK, tmp_path_factory.mktemp("phone"))


def test_the_framework_speaks_under_emulation(phone: Mac, for_ios: Path, tmp_path: Path) -> None:
    asked = [Request("text", "bf_emma", 1.0, 7, TEXT), Request("phonemes", "af_heart", 1.2, 3, "həlˈO.")]
    runtime = next(iter(runtime_libraries(LINUX).values()))
    here = write_bundle(tmp_path / "bundle", reading(contents_with_levels(tmp_path, LINUX, runtime)))
    assert phone.speak(for_ios, asked, 2, MACOS="15.0") == spoken_here(here, asked)


def test_an_older_ios_and_another_identity_are_refused(phone: Mac, for_ios: Path, resources: Path) -> None:
    done = phone.start(for_ios, [], MACOS="14.8")
    assert done.returncode == 1 and b"ios 15.0 or newer and this machine has ios 14.8" in done.stderr
    done = phone.start(resources, [], MACOS="15.0")
    assert done.returncode == 1 and done.stderr


@pytest.fixture
def both(library: NativeLibrary, resources: Path, reading_bundle: Path) -> Iterator[BothRuntimes]:
    """The form for iOS, without the framework, and an ordinary bundle in Python."""
    with library.loaded(resources) as native, Bundle.load(reading_bundle) as python:
        yield BothRuntimes(library, native, python)


def test_speech_has_the_bits_of_python_with_an_ordinary_bundle(both: BothRuntimes) -> None:
    for phonemes, manner in utterances(20, 40):
        both.compare(phonemes=phonemes, **manner)
    both.compare(text=TEXT, voice="bf_emma", seed=7)
    both.compare_streams(text=TEXT, voice="af_heart*0.7+am_adam*0.3", speed=1.2)
    with NativeSpeech(both.library, both.native) as live:
        live.push(TEXT)
        live.end()
        found = [piece.samples.tobytes() for piece in live.pieces(wait=True)]
    assert found == [piece.samples.tobytes() for piece in both.python.stream(iter([TEXT]))]


def refusal(library: NativeLibrary, bundle: Path, **options: Any) -> NativeError:
    with pytest.raises(NativeError) as failure:
        library.load(bundle, **options)
    return failure.value


@pytest.mark.parametrize("options", [{}, {"skip_verify": 1}])
def test_another_module_is_refused(
    library: NativeLibrary, bundle: Path, resources: Path, options: dict[str, int]
) -> None:
    manifest = resources / "manifest.msgpack"
    own = identity_of(bundle / FRAMEWORK)
    manifest.write_bytes(manifest.read_bytes().replace(own.encode(), b"0" * 64))
    found = refusal(library, resources, **options)
    assert found.name == "LibraryLoadError" and "0" * 64 in str(found) and own in str(found)
    assert f"put the folder {FOLDER}" in str(found)


def test_a_bundle_is_loaded_by_the_library_of_its_form_alone(
    library: NativeLibrary, bundle: Path, reading_bundle: Path
) -> None:
    ordinary = refusal(library, reading_bundle)
    assert ordinary.name == "LibraryLoadError" and "loads no others" in str(ordinary)
    other = refusal(native_library(), bundle)
    assert other.name == "LibraryLoadError" and f"in its folder {FOLDER}" in str(other)


@pytest.mark.parametrize("file", ["parameters.bin", "voices/af_heart.bin", "text/tagger.bin", "README.txt"])
def test_a_changed_or_missing_file_is_refused(library: NativeLibrary, resources: Path, file: str) -> None:
    path = resources / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = refusal(library, resources)
    assert found.name == "DamagedFileError" and file in str(found)
    path.unlink()
    assert refusal(library, resources).name == "MissingFileError"


def test_the_framework_is_a_file_like_others_where_it_was_exported(bundle: Path, tmp_path: Path) -> None:
    pack_bundle(bundle, tmp_path / "packed.tar")
    unpack_archive(tmp_path / "packed.tar", tmp_path / "unpacked")
    assert verify_bundle(tmp_path / "unpacked") == read_manifest(bundle)
    changed = tmp_path / "unpacked" / FOLDER / "Headers" / "kokoro.h"
    changed.write_bytes(changed.read_bytes().replace(b"speech", b"SPEECH"))
    with pytest.raises(DamagedFileError, match=r"kokoro\.h"):
        verify_bundle(tmp_path / "unpacked")
