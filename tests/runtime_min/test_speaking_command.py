"""The command speaks as the runtime does, and ends with the documented codes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi

from runtime_min.errors import BundleError
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import environment, expected


@pytest.fixture(scope="module")
def bundle(speaking_bundle: Path) -> Path:
    return speaking_bundle


def speak(*arguments: str | Path, stdin: str | None = None, module: bool = False) -> Any:
    command = [sys.executable, *(["-m", "runtime_min"] if module else []), *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment(), cwd=ROOT)


def test_running_leaves_the_bundle_as_it_was_and_says_that_it_babbles(bundle: Path, tmp_path: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(bundle.rglob("*"))
        }

    before = state()
    done = speak(bundle / "runtime_min.pyz", "--phonemes", "abc", "-o", str(tmp_path / "x.wav"))
    assert done.returncode == 0, done.stderr
    assert state() == before
    assert "THIS BUNDLE BABBLES" in done.stderr


def test_the_command_writes_what_the_api_computes(bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "hello.wav"
    how = ["--voice", "am_adam", "--speed", "2", "--no-stretch", "--seed", "3"]
    arguments = ["--phonemes", "-", *how, "-o", path]
    done = speak(bundle, *arguments, "--format", "pcm16", "--threads", "2", stdin="abc ab\n", module=True)
    assert done.returncode == 0, done.stderr
    assert "on 2 threads" in done.stderr
    with wave.open(str(path)) as file:
        found = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    _, samples = expected("abc ab", "am_adam", 2.0, 3)
    np.testing.assert_allclose(found, np.clip(samples, -1, 1) * 32767, atol=1.0)


COMMANDS = {
    "unknown phonemes": (["--phonemes", "abX"], 3, "'X' (U+0058) at 2"),
    "threads": (["--phonemes", "a", "--threads", "0"], 2, "from 1 to 1024"),
    "level": (["--phonemes", "a", "--level", "v9"], 2, "no CPU level 'v9'"),
    "digest": (["--phonemes", "a", "--manifest-sha256", "0" * 64], 4, "pinned is 0000"),
    "output": (["--phonemes", "a", "-o", "/nowhere/x.wav"], 6, "cannot be written"),
    "usage": ([], 2, "one of the arguments --phonemes"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_ends_with_one_line_and_the_documented_code(bundle: Path, name: str) -> None:
    arguments, code, message = COMMANDS[name]
    done = speak(bundle / "runtime_min.pyz", bundle, *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_text_in_place_of_phonemes_is_warned_of_in_a_line(bundle: Path, tmp_path: Path) -> None:
    done = speak(bundle, "--phonemes", "abc abc abc", "-q", "-o", tmp_path / "x.wav", module=True)
    assert done.returncode == 0
    _, line = done.stderr.splitlines()
    assert line.startswith("warning: These phonemes look like text: 'abc abc abc'.") and "--text" in line


def test_the_command_refuses_a_damaged_bundle(bundle: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(bundle, tmp_path / "copy"))
    (damaged / "NOTICE").unlink()
    done = speak(damaged, "--phonemes", "a", module=True)
    assert (done.returncode, BundleError.exit_code) == (4, 4)
    assert "lacks NOTICE" in done.stderr
    assert speak(tmp_path / "nothing", "--phonemes", "a", module=True).returncode == 4


def test_the_readmes_commands_work_as_written_as_often_as_one_likes(
    speaking_bundle: Path, tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(speaking_bundle, tmp_path / "bundle"))
    # The tiny model has other phonemes.
    readme = (bundle / "README.txt").read_text(encoding="utf-8").replace("həlˈO wˈɜɹld.", "abc cab")
    install, speak = re.findall(r"^    (python .*)", readme.partition("In an app")[0], re.MULTILINE)
    assert install == f'python -m pip install numpy "apache-tvm-ffi=={tvm_ffi.__version__}"'
    # zsh and PowerShell give these another meaning within double quotes.
    assert not set("!$`") & set(install + speak)
    (code,) = map(textwrap.dedent, re.findall(r"in this directory:\n((?:\n|    .*\n)+)", readme))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in (speak, speak, f"python - <<'END'\n{code}\nassert len(audio.samples)\nEND"):
        subprocess.run(command, shell=True, check=True, cwd=bundle, env={**os.environ, "PATH": path})
    assert (bundle / "hello.wav").stat().st_size > 1_000
