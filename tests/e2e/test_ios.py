"""kokoro speaks text from the framework of a bundle for iOS, in emulation, with the bits of x86-64-v3."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.compiler.targets import find_target
from exporter.native.build import build_library, library_name
from runtime_min import Bundle
from tests.e2e.conftest import Export
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.macos import made_mac
from tests.support.emulation.speaking import Request

pytestmark = [pytest.mark.e2e, pytest.mark.machines, pytest.mark.slow]

SAID = Request("text", "af_heart", 2.0, 7, "Hi.")
IOS, MACOS = find_target("ios-arm64"), find_target("macos-arm64")


def test_kokoro_speaks_there_as_here(export: Export, aarch64: EmulatedMachine, tmp_path: Path) -> None:
    options = ("--text-buckets", "32", "--frame-buckets", "64", "--languages", "en-us")
    there, here = tmp_path / "there", tmp_path / "here"
    for output, more in (
        (there, ("--target", IOS.name, "--cpu-level", "all", "--native")),
        (here, ("--cpu-level", "x86-64-v3")),
    ):
        done = export(output, *more, *options)
        assert done.returncode == 0, done.stderr
    # A program is linked to the library for macOS, and finds the framework's in its place.
    linked = tmp_path / "linked" / library_name(MACOS)
    linked.parent.mkdir()
    build_library(MACOS, linked)
    phone = made_mac(aarch64, linked, tmp_path)
    shutil.move(there / IOS.module, tmp_path / linked.name)
    shutil.rmtree(there / "native")
    (found,) = phone.speak(there, [SAID], threads=2, MACOS="15.0")
    with Bundle.load(here, level="x86-64-v3") as bundle:
        expected = bundle.synthesize(SAID.input, voice=SAID.voice, speed=SAID.speed, seed=SAID.seed).samples
    assert found.tobytes() == expected.tobytes()
