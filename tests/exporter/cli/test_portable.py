"""The commands for finished bundles work wherever Python does, and load neither torch nor TVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.bundle.pack import pack_bundle
from tests.exporter.bundle.test_sign import make_key
from tests.support.emulation import without_linux

PROGRAM = f"""
{without_linux.PROGRAM}
from exporter.cli.main import app
try:
    app(sys.argv[1:], prog_name="kokoro-export")
finally:
    print(*{{"torch", "tvm", "tvm_ffi", "kokoro"}} & set(sys.modules), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def shipped(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an archive of a bundle, and a key to sign with."""
    place = tmp_path_factory.mktemp("shipped")
    pack_bundle(sound, place / "bundle.tar")
    make_key(place, "maker")
    return place


@pytest.mark.parametrize(
    "command",
    [
        *("--help", "bundle --help", "validate --help", "measure --help", "version", "targets", "doctor"),
        *("inspect {bundle}", "inspect {bundle} --json", "verify {bundle}"),
        "verify {place}/bundle.tar",
        "sign {bundle} --key {place}/maker.pem -o {place}/bundle.sig",
        "pack {bundle} -o {place}/again.tar",
        "unpack {place}/bundle.tar -o {place}/unpacked",
    ],
)
def test_a_command_needs_nothing_of_linux_nor_the_compiler(sound: Path, shipped: Path, command: str) -> None:
    arguments = [part.format(bundle=sound, place=shipped) for part in command.split()]
    # filelock has other locks for Windows; without fcntl on Linux it warns that its own are weaker.
    program = [sys.executable, "-W", "ignore:only soft file lock", "-c", PROGRAM]
    # Consoles of Windows lack most characters.
    console = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([*program, *arguments], env=console, capture_output=True, encoding="cp1252")
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert done.stdout
