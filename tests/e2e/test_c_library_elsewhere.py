"""kokoro speaks text from the C library of other systems, in emulation, with the bits of x86-64-v3."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter.compiler.targets import Target, find_target
from exporter.native.build import library_name
from tests.e2e.conftest import Export
from tests.support.emulation.android import made_android
from tests.support.emulation.machine import EmulatedMachine
from tests.support.emulation.macos import made_mac, made_phone
from tests.support.emulation.speaking import Request, SpeakingMachine, spoken_here

pytestmark = [pytest.mark.e2e, pytest.mark.machines, pytest.mark.slow]

SAID = Request("text", "af_heart", 2.0, 7, "Hi.")
VARIABLES = {"ios-arm64": {"MACOS": "15.0"}}


def made_machine(target: Target, processor: EmulatedMachine, bundle: Path, place: Path) -> SpeakingMachine:
    """A machine with the C library of a bundle; that for iOS is taken out of the bundle, as an app has it."""
    if target.one_module:
        module = shutil.move(bundle / target.module, place / "module")
        shutil.rmtree(bundle / "native")
        return made_phone(processor, module, place)
    make = {"android": made_android, "macos": made_mac}[target.system]
    return make(processor, bundle / "native" / library_name(target), place)


@pytest.mark.parametrize("name", ["android-arm64", "macos-arm64", "ios-arm64"])
def test_kokoro_speaks_there_as_here(
    export: Export, aarch64: EmulatedMachine, tmp_path: Path, name: str
) -> None:
    options = ("--text-buckets", "32", "--frame-buckets", "64", "--languages", "en-us")
    there, here = tmp_path / "there", tmp_path / "here"
    for output, more in (
        (there, ("--target", name, "--cpu-level", "all", "--native")),
        (here, ("--cpu-level", "x86-64-v3")),
    ):
        done = export(output, *more, *options)
        assert done.returncode == 0, done.stderr
    machine = made_machine(find_target(name), aarch64, there, tmp_path)
    assert machine.speak(there, [SAID], 2, **VARIABLES.get(name, {})) == spoken_here(here, [SAID])
