"""All that runs beside a bundle needs nothing that only Linux has, and does the same to the last bit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.bundle.pack import pack_bundle
from tests.exporter.bundle.test_sign import make_key
from tests.support.emulation.without_linux import PROGRAM
from tests.support.files import bytes_of
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import environment
from tests.support.tiny.self_test import give_its_own

RUN = """
import runpy
module, *sys.argv[1:] = sys.argv[1:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
WITHOUT_LINUX = "import sys\nsys.modules['torch'] = None\nimport tvm_ffi\n" + PROGRAM + RUN


@pytest.fixture(scope="module")
def received(speaking_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with a bundle that has a self-test, that bundle packed, and a key that did not sign it."""
    place = tmp_path_factory.mktemp("received")
    bundle = give_its_own(Path(shutil.copytree(speaking_bundle, place / "bundle")), place)
    pack_bundle(bundle, place / "bundle.tar")
    make_key(place, "stranger")
    return place


def run(program: str, place: Path, *arguments: str, **changes: str) -> tuple[int, str, str]:
    """Runs a module as a command, and returns its exit code and output without times."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=place,
        env=environment(PYTHONPATH=str(ROOT), TVM_NUM_THREADS="2", **changes),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, re.sub(r"[\d.]+ s\.\n$", "", done.stdout), done.stderr


def state(place: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of change of everything in a place that may be one nobody can write to."""
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in [place, *place.rglob("*")]}


# "..." stands for the place of what was received.
COMMANDS = {
    "speak": "runtime_min .../bundle --phonemes abca --voice am_adam --seed 3 -q -o speech.wav",
    "list voices": "runtime_min .../bundle --list-voices",
    "self-test": "runtime_min .../bundle --self-test",
    "verify": "runtime_min.bundle_command verify .../bundle --strict",
    "verify a packed one": "runtime_min.bundle_command verify .../bundle.tar",
    "inspect": "runtime_min.bundle_command inspect .../bundle",
    "inspect a packed one": "runtime_min.bundle_command inspect .../bundle.tar --json",
    "unpack": "runtime_min.bundle_command unpack .../bundle.tar -o unpacked",
    "wrong key": "runtime_min.bundle_command verify .../bundle.tar --key .../stranger.public.pem",
    "missing bundle": "runtime_min .../nothing --list-voices",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_the_same_without_what_only_linux_has(
    received: Path, tmp_path: Path, name: str
) -> None:
    arguments = COMMANDS[name].replace("...", str(received)).split()
    found, before = [], state(received)
    for program in ("import sys" + RUN, WITHOUT_LINUX):
        place = tmp_path / str(len(found))
        place.mkdir()
        found.append((run(program, place, *arguments), bytes_of(place)))
    assert found[0] == found[1]
    (code, _, said), written = found[0]
    assert code == (4 if name in ("wrong key", "missing bundle") else 0), said
    assert bool(written) == (name in ("speak", "unpack"))
    assert state(received) == before


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_a_console_of_any_encoding_shows_paths_and_phonemes(
    received: Path, tmp_path: Path, encoding: str
) -> None:
    place = tmp_path / "Stimmen ə 日本"
    place.mkdir()
    for name in ("bundle", "bundle.tar"):
        (place / name).symlink_to(received / name)
    usual = "import sys" + RUN
    commands = [
        ("runtime_min", "bundle", "--phonemes", "abˈ日", "-o", "ə.wav"),
        ("runtime_min", "bundle", "--phonemes", "abc", "-o", "ə.wav"),
        ("runtime_min", "bundle", "--help"),
        ("runtime_min.bundle_command", "verify", str(place / "bundle.tar")),
        ("runtime_min.bundle_command", "unpack", str(place / "bundle.tar"), "-o", str(place / "entpackt ə")),
        ("runtime_min.bundle_command", "inspect", str(place / "no bundle ə")),
    ]
    codes = []
    for command in commands:
        code, _, said = run(usual, place, *command, PYTHONIOENCODING=encoding)
        assert "Traceback" not in said
        codes.append(code)
    assert codes == [3, 0, 0, 0, 0, 4]
    assert sorted(os.listdir(place)) == ["bundle", "bundle.tar", "entpackt ə", "ə.wav"]
