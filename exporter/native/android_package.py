"""Makes the package for Java and Kotlin: ``python -m exporter.native.android_package --output DIRECTORY``.

For Android that is an archive (AAR) for Gradle, with libkokoro, and the source for Kotlin beside it. For
``--target host`` it is what a Java program of this machine needs. Equal sources, libraries and versions of
``javac`` give equal bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporter.compiler.targets import Target, find_target
from exporter.errors import ExportError
from exporter.native.bindings import ANDROID
from exporter.native.build import (
    HEADER,
    LIBRARY,
    build_library,
    compiler_of,
    system_flags,
    system_libraries,
)
from exporter.native.zig import OPTIMISED, run
from runtime_min import __version__

ARCHIVE = f"kokoro-bundle-{__version__}.aar"
CLASSES = "classes.jar"
GLUE = "libkokoro_jni.so"
"""The library with the native methods; it opens libkokoro.so beside it."""
KOTLIN = ANDROID / "kotlin" / "Kokoro.kt"
TARGET = "android-arm64"
_PROCESSOR = "arm64-v8a"
"""Android's name of the processor of `TARGET`."""
_GLUE_FLAGS = (
    *("-std=c11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", *OPTIMISED),
    *("-shared", "-s", "-Wl,--build-id=none", "-Wl,-z,now", f"-Wl,-soname,{GLUE}", "-Wl,-rpath,$ORIGIN"),
)
# Android has the classes of Java 8 and later ones in part; newer compilers warn of so old a version.
_JAVAC_FLAGS = ("--release", "8", "-encoding", "UTF-8", "-g:source,lines", "-Xlint:all,-options", "-Werror")
_DATE = (1980, 1, 1, 0, 0, 0)


class JavaMissingError(ExportError):
    """There is no compiler of Java, or there are no sources for it."""

    exit_code = 5


class JavaError(ExportError):
    """The compiler of Java refused the sources."""

    exit_code = 7


def find_javac() -> Path:
    """Returns the path of ``javac``: that of ``JAVA_HOME``, or else the one on ``PATH``.

    Raises:
        JavaMissingError: there is none, or no jni.h beside it.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(Path(home, "bin", "javac") if home else "javac")
    # On PATH it may be a link into the JDK.
    javac = Path(found).resolve() if found else None
    if javac is None or not (_includes(javac)[0] / "jni.h").is_file():
        raise JavaMissingError(
            f"The package for Java needs a JDK of version 9 or later, and there is none at {home or 'PATH'}: "
            "install it (Debian, Ubuntu: apt install openjdk-17-jdk-headless), or name it in JAVA_HOME."
        )
    return javac


def _includes(javac: Path) -> list[Path]:
    """Returns the directories of jni.h and of the header that it includes."""
    place = javac.parents[1] / "include"
    return [place, place / "linux"]


def compile_java(place: Path) -> None:
    """Compiles the classes.

    Args:
        place: directory that gets `classes`, and `headers` with that of the native methods.

    Raises:
        JavaMissingError: there is no compiler, or no source.
        JavaError: it refused the sources.
    """
    sources = sorted(map(str, (ANDROID / "java").rglob("*.java")))
    if not sources:
        raise JavaMissingError(
            f"The sources of the package are not at {ANDROID}: run this in a clone of the repository."
        )
    outputs = ("-d", str(place / "classes"), "-h", str(place / "headers"))
    command = [str(find_javac()), *_JAVAC_FLAGS, *outputs, *sources]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise JavaError(f"javac ended with status {done.returncode}: {(done.stdout + done.stderr).strip()}")


def write_classes(output: Path) -> None:
    """Writes the compiled classes to a jar, with the licence."""
    with tempfile.TemporaryDirectory(prefix="kokoro-java-") as place:
        compile_java(Path(place))
        classes = Path(place, "classes")
        found = {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    _write_zip(output, {**found, "META-INF/LICENSE": (ANDROID / "LICENSE").read_bytes()})


def build_glue(target: Target, libkokoro: Path, output: Path) -> None:
    """Builds the library with the native methods.

    Args:
        target: the system that it is for.
        libkokoro: the library that it needs, which is found by its name.
        output: file to write.

    Raises:
        JavaMissingError: there is no JDK.
        LinkError: the compiler failed.
    """
    with tempfile.TemporaryDirectory(prefix="kokoro-java-") as place:
        # The compiler compares the header with the C source.
        compile_java(Path(place))
        made = Path(place, GLUE)
        included = [f"-I{path}" for path in (Path(place, "headers"), HEADER.parent, *_includes(find_javac()))]
        source = [str(ANDROID / "jni" / "kokoro_jni.c"), str(libkokoro.resolve())]
        command = [*compiler_of(target, "cc"), *system_flags(target), *_GLUE_FLAGS, *included, *source]
        run([*command, *system_libraries(target, Path(place)), "-o", str(made)])
        shutil.copyfile(made, output)


def write_archive(output: Path, libraries: Sequence[Path]) -> None:
    """Writes an archive for Android, as Gradle reads them.

    Args:
        output: file to write.
        libraries: libkokoro.so and libkokoro_jni.so for `TARGET`.
    """
    with tempfile.TemporaryDirectory(prefix="kokoro-java-") as place:
        classes = Path(place, CLASSES)
        write_classes(classes)
        contents = {
            "AndroidManifest.xml": (ANDROID / "AndroidManifest.xml").read_bytes(),
            CLASSES: classes.read_bytes(),
            # There are no resources.
            "R.txt": b"",
            "proguard.txt": (ANDROID / "proguard.txt").read_bytes(),
            **{f"jni/{_PROCESSOR}/{path.name}": path.read_bytes() for path in libraries},
        }
    _write_zip(output, contents)


def _write_zip(output: Path, contents: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(output, "w") as archive:
        for name in sorted(contents):
            member = zipfile.ZipInfo(name, _DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(member, contents[name])


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the package for Android, or for programs of this machine."""
    parser = argparse.ArgumentParser(prog="python -m exporter.native.android_package", description=__doc__)
    parser.add_argument("--target", choices=(TARGET, "host"), default=TARGET)
    parser.add_argument("--output", type=Path, default=Path("build/android"), help="directory to write to")
    given = parser.parse_args(arguments)
    target = find_target(given.target)
    # Building the library takes a minute.
    find_javac()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kokoro-java-") as place:
        libraries = [Path(place, LIBRARY), Path(place, GLUE)]
        build_library(target, libraries[0])
        build_glue(target, *libraries)
        if given.target == TARGET:
            write_archive(given.output / ARCHIVE, libraries)
        else:
            write_classes(given.output / CLASSES)
            for path in libraries:
                shutil.copyfile(path, given.output / path.name)
    shutil.copyfile(KOTLIN, given.output / KOTLIN.name)


if __name__ == "__main__":
    main()
