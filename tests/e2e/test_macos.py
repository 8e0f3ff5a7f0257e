"""A bundle for macOS speaks text from its C library, in emulation, with the bits of x86-64-v3."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.native.build import library_name
from runtime_min import Bundle
from tests.e2e.conftest import Export
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.macos import made_mac
from tests.support.emulation.speaking import Request

pytestmark = [pytest.mark.e2e, pytest.mark.machines, pytest.mark.slow]

SAID = Request("text", "af_heart", 2.0, 7, "Hi.")
MACOS = find_target("macos-arm64")


def test_kokoro_speaks_there_as_here(export: Export, aarch64: EmulatedMachine, tmp_path: Path) -> None:
    options = ("--text-buckets", "32", "--frame-buckets", "64", "--languages", "en-us")
    there, here = tmp_path / "there", tmp_path / "here"
    for output, more in (
        (there, ("--target", MACOS.name, "--cpu-level", "all", "--native")),
        (here, ("--cpu-level", "x86-64-v3")),
    ):
        done = export(output, *more, *options)
        assert done.returncode == 0, done.stderr
    (found,) = made_mac(aarch64, there / "native" / library_name(MACOS), tmp_path).speak(
        there, [SAID], threads=2
    )
    with Bundle.load(here, level="x86-64-v3") as bundle:
        expected = bundle.synthesize(SAID.input, voice=SAID.voice, speed=SAID.speed, seed=SAID.seed).samples
    assert found.tobytes() == expected.tobytes()
