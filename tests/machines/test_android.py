"""The C library for Android speaks under emulation, with musl in the place of Android's C library."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import Target, find_target
from exporter.export.runtime_wheel import runtime_libraries
from exporter.native import android_package
from exporter.native.build import LIBRARY, build_library
from tests.support.emulation.android import Android, made_android
from tests.support.emulation.library_files import check_android
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.speaking import REFUSED, REQUESTS, Request, spoken_here
from tests.support.native.file_checks import DECLARED, FOR_STAGES
from tests.support.tiny.model import contents_with_levels

pytestmark = pytest.mark.machines

ANDROID = find_target("android-arm64")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / LIBRARY
    build_library(ANDROID, path)
    return path


@pytest.fixture(scope="module")
def android(library: Path, aarch64: EmulatedMachine, tmp_path_factory: pytest.TempPathFactory) -> Android:
    return made_android(aarch64, library, tmp_path_factory.mktemp("android"))


def tiny_bundle(place: Path, target: Target, of_runtime: str) -> Path:
    place.mkdir()
    runtime = next(iter(runtime_libraries(find_target(of_runtime)).values()))
    return write_bundle(place / "bundle", contents_with_levels(place, target, runtime))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("tiny") / "android", ANDROID, "linux-aarch64")


def test_it_needs_android_10_alone_and_is_the_same_again(library: Path, tmp_path: Path) -> None:
    shown = check_android(library, {"libc.so", "libm.so", "libdl.so"})
    assert shown == DECLARED | FOR_STAGES
    build_library(ANDROID, tmp_path / LIBRARY)
    assert (tmp_path / LIBRARY).read_bytes() == library.read_bytes()


def test_the_one_for_java_needs_that_alone(library: Path, tmp_path: Path) -> None:
    android_package.build_glue(ANDROID, library, tmp_path / android_package.GLUE)
    shown = check_android(tmp_path / android_package.GLUE, {"libc.so", LIBRARY})
    methods = {name for name in shown if name.startswith("Java_kokoro_bundle_Native_")}
    assert shown == methods | {"JNI_OnLoad"} and methods


@pytest.mark.parametrize("threads", [1, 3])
def test_samples_are_those_of_python_on_this_machine_to_the_bit(
    android: Android, bundle: Path, threads: int, tmp_path: Path
) -> None:
    here = tiny_bundle(tmp_path / "host", find_target("linux-x86_64"), "linux-x86_64")
    assert android.speak(bundle, REQUESTS, threads) == spoken_here(here, REQUESTS)


@pytest.mark.parametrize(("request_", "message"), REFUSED)
def test_errors_of_the_input_are_messages(
    android: Android, bundle: Path, request_: Request, message: str
) -> None:
    done = android.start(bundle, [request_])
    assert done.returncode == 1 and message in done.stderr.decode()


def test_a_changed_library_is_refused(android: Android, bundle: Path, tmp_path: Path) -> None:
    assert android.refuses_a_changed_library(bundle, tmp_path / "copy")


def test_an_older_android_is_refused(android: Android, bundle: Path) -> None:
    done = android.start(bundle, REQUESTS, ANDROID_API_LEVEL="28")
    assert done.returncode == 1 and "android 28" in done.stderr.decode()
