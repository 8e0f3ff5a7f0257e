"""Libraries for Android speak under emulation, with glibc in the place of Android's C library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from exporter.bundle.write import write_bundle
from exporter.compiler.targets import find_target
from exporter.export.runtime_wheel import runtime_libraries
from tests.support.emulation import bundle_server, questions
from tests.support.emulation.library_files import BIONIC
from tests.support.emulation.machine import EmulatedMachine
from tests.support.tiny.bundle import with_entries
from tests.support.tiny.model import contents_with_levels
from tests.support.tiny.runtime_alone import UTTERANCES

pytestmark = pytest.mark.machines

LINUX = find_target("linux-aarch64")
NAMES = ("phonemes", "voice", "speed", "seed")


@pytest.fixture
def speak(aarch64: EmulatedMachine, tmp_path: Path) -> Callable[[str], list[NDArray[np.float32]]]:
    """Returns a function that compiles the tiny model for a target and speaks with it as Linux does."""
    renamed = tmp_path / "renamed"
    renamed.mkdir()
    for name in BIONIC:
        (renamed / name).symlink_to(next(aarch64.system.glob(f"**/{name}.6")))

    def speak(name: str) -> list[NDArray[np.float32]]:
        runtime = runtime_libraries(LINUX)["libtvm_runtime.so"]
        made = contents_with_levels(tmp_path / name, find_target(name), runtime)
        system = made.manifest.target._replace(system="linux", minimum_os=LINUX.minimum_os)
        bundle = write_bundle(tmp_path / name / "bundle", with_entries(made, target=system))
        variables = {**aarch64.environment, "LD_LIBRARY_PATH": str(renamed)}
        script = Path(bundle_server.__file__)
        with questions.asking(aarch64.command, script, bundle, env=variables, cwd=aarch64.place) as ask:
            return [
                ask((None, "synthesize", (), dict(zip(NAMES, utterance, strict=True)))).samples
                for utterance in UTTERANCES
            ]

    return speak


def test_samples_are_those_of_linux_to_the_bit(speak: Callable[[str], list[NDArray[np.float32]]]) -> None:
    for found, expected in zip(speak("android-arm64"), speak("linux-aarch64"), strict=True):
        assert found.tobytes() == expected.tobytes()
