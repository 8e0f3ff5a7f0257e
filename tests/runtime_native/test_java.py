"""The package for Java and Kotlin, on this machine's JVM: the bits of Python, and no misuse harms."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import lief
import numpy as np
import pytest

from exporter.compiler.targets import find_target
from exporter.native import android_package
from exporter.native.android_package import CLASSES, GLUE, KOTLIN
from exporter.native.bindings import ANDROID
from exporter.native.build import LIBRARY
from runtime_min import Audio
from tests.support.native.compared import assert_speaks_as_python
from tests.support.native.examples import run, speak

JAVA = shutil.which("javac")
pytestmark = [
    pytest.mark.machines,
    pytest.mark.skipif(JAVA is None, reason="Java is not installed: apt install openjdk-17-jdk-headless"),
]

KOTLIN_COMPILER = "kotlin-compiler@2.4.20"
HOST = find_target("host")
SPEAKING = (ANDROID / "tests" / "Speaking.java").read_text("utf-8")
CHECKS = re.findall(r"^    static void (\w+)\(\)", SPEAKING, re.MULTILINE)


@pytest.fixture(scope="module")
def package(native: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the classes and the libraries, and with the compiled checks."""
    place = tmp_path_factory.mktemp("java")
    shutil.copy(native / LIBRARY, place)
    android_package.write_classes(place / CLASSES)
    android_package.build_glue(HOST, place / LIBRARY, place / GLUE)
    sources = [*(ANDROID / "tests").glob("*.java"), ANDROID / "examples" / "Speak.java"]
    run(["javac", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", CLASSES, "-d", ".", *sources], place)
    return place


def java(package: Path, *more: object) -> list[object]:
    """Returns the beginning of a command, which ends with the name of a class and its arguments."""
    classes = os.pathsep.join(map(str, (package / CLASSES, package, *more)))
    # Arguments and output are UTF-8 wherever the tests run.
    java = ["env", "LC_ALL=C.UTF-8", "java", "-Xcheck:jni", "-Xmx256m"]
    return [*java, f"-Dkokoro.library={package}", "-cp", classes]


def test_the_example_writes_the_file_that_python_writes(
    package: Path, reading_bundle: Path, expected: Audio, tmp_path: Path
) -> None:
    speak([*java(package), "Speak", reading_bundle], tmp_path, expected)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm, which has Kotlin, is missing: apt install npm")
def test_the_example_in_kotlin_writes_the_same_file(
    package: Path, reading_bundle: Path, expected: Audio, tmp_path: Path
) -> None:
    run(["npm", "--no-audit", "--no-fund", "--loglevel=error", "install", KOTLIN_COMPILER], tmp_path)
    compiler = tmp_path / "node_modules" / "kotlin-compiler"
    flags = ["-jvm-target", "1.8", "-Werror", "-cp", package / CLASSES, "-d", tmp_path / "classes"]
    sources = [KOTLIN, *(ANDROID / "examples").glob("*.kt"), *(ANDROID / "tests").glob("*.kt")]
    run(["bash", compiler / "bin" / "kotlinc", *flags, *sources], tmp_path)
    command = java(package, tmp_path / "classes", compiler / "lib" / "kotlin-stdlib.jar")
    speak([*command, "SpeakKt", reading_bundle], tmp_path, expected)
    assert run([*command, "ArgumentsKt", reading_bundle], tmp_path) == "passed\n"


@pytest.mark.parametrize("check", CHECKS)
def test_an_app_may_rely_on_it(package: Path, reading_bundle: Path, check: str) -> None:
    printed = run([*java(package), "Speaking", reading_bundle, check], package)
    # JNI's own checks print warnings.
    assert printed == f"passed: {check}\n"


def test_speech_has_the_bits_and_times_of_python(package: Path, reading_bundle: Path) -> None:
    assert_speaks_as_python([*java(package), "Compared"], package, reading_bundle)


def test_java_rounds_samples_as_python_does(package: Path, tmp_path: Path) -> None:
    halves = (np.arange(-32768, 32768) + 0.5) / 32767
    random = np.random.default_rng(1).uniform(-1.2, 1.2, 50_000)
    samples = np.concatenate([halves, random, [-0.0, 1e-40]]).astype(np.float32)
    samples.astype(">f4").tofile(tmp_path / "samples")
    run([*java(package), "Rounded", "samples", "rounded"], tmp_path)
    expected = Audio(samples, 24_000, np.zeros(0, np.int64)).pcm16()
    assert (tmp_path / "rounded").read_bytes() == expected


def test_a_process_ends_in_the_middle_of_a_stream(package: Path, reading_bundle: Path) -> None:
    command = [*java(package), "Ending", reading_bundle]
    done = subprocess.run(list(map(str, command)), cwd=package, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_library_that_is_missing_is_named(package: Path, reading_bundle: Path, tmp_path: Path) -> None:
    command = [each for each in java(package) if not str(each).startswith("-Dkokoro")]
    for place in ([], [f"-Dkokoro.library={tmp_path}"]):
        done = subprocess.run(
            [*map(str, command), *place, "Speak", str(reading_bundle), "Hello", "made.wav"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert "LibraryLoadError: The library kokoro_jni cannot be loaded" in done.stderr


def test_the_archive_is_that_of_gradle_and_has_equal_bytes(package: Path, tmp_path: Path) -> None:
    libraries = [package / LIBRARY, package / GLUE]
    for name in ("one.aar", "two.aar"):
        android_package.write_archive(tmp_path / name, libraries)
    assert (tmp_path / "one.aar").read_bytes() == (tmp_path / "two.aar").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.aar") as archive:
        native = [f"jni/arm64-v8a/{name}" for name in (LIBRARY, GLUE)]
        assert archive.namelist() == ["AndroidManifest.xml", "R.txt", CLASSES, *native, "proguard.txt"]
        assert archive.read(native[1]) == (package / GLUE).read_bytes()
        (tmp_path / CLASSES).write_bytes(archive.read(CLASSES))
        kept = re.findall(r"kokoro\.bundle\.(\w+)", archive.read("proguard.txt").decode())
    with zipfile.ZipFile(tmp_path / CLASSES) as classes:
        names = classes.namelist()
        versions = {classes.read(name)[:8].hex() for name in names if name.endswith(".class")}
    # Java 8.
    assert versions == {"cafebabe00000034"}
    assert "META-INF/LICENSE" in names and {f"kokoro/bundle/{name}.class" for name in kept} <= set(names)


def test_the_glue_is_equal_each_time_and_needs_libkokoro_by_its_name(package: Path, tmp_path: Path) -> None:
    android_package.build_glue(HOST, package / LIBRARY, tmp_path / GLUE)
    assert (tmp_path / GLUE).read_bytes() == (package / GLUE).read_bytes()
    library = lief.ELF.parse(tmp_path / GLUE)
    assert library is not None and set(library.libraries) == {LIBRARY, "libc.so.6"}
    declared = (ANDROID / "java" / "kokoro" / "bundle" / "Native.java").read_text("utf-8")
    methods = re.findall(r"static native \S+ (\w+)\(", declared)
    exported = {str(symbol.name) for symbol in library.exported_symbols}
    assert exported == {"JNI_OnLoad", *(f"Java_kokoro_bundle_Native_{name}" for name in methods)}


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(android_package.JavaMissingError, match="apt install openjdk-17-jdk-headless"):
        android_package.find_javac()
