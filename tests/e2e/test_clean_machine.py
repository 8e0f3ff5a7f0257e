"""A bundle speaks where nothing is installed but numpy and apache-tvm-ffi, and changes nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporter.bundle.write import ExtensionFiles
from runtime_min import Bundle
from runtime_min.format.signatures import STAGE_NAMES
from tests.e2e.conftest import ROOT, environment, run_python
from tests.support.exported_self_test import give
from tests.support.utterances import HELLO

pytestmark = pytest.mark.e2e

HEAVY = ("torch", "tvm", "msgpack", "kokoro", "exporter")
SUPPORTED = ("3.10", "3.11", "3.12", "3.13", "3.14")
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


def other_pythons() -> dict[str, str]:
    """Every other supported Python that can be started by its name."""
    found = {}
    for version in SUPPORTED:
        path = shutil.which(f"python{version}")
        if path is None or version == THIS:
            continue
        told = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True, text=True
        )
        # A name may stand for a version manager that does not have it.
        if told.returncode == 0 and told.stdout.strip() == version:
            found[version] = path
    return found


PYTHONS = {THIS: sys.executable, **other_pythons()}


@dataclass(frozen=True)
class Machine:
    """An environment that has the runtime's two dependencies, and a bundle that was copied to it."""

    python: Path
    bundle: Path
    place: Path
    """The current directory."""

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs its Python, without the network where the system allows to take it away."""
        clean = {
            key: value
            for key, value in environment().items()
            if not key.startswith("PYTHON") and "proxy" not in key.lower()
        }
        command = [*WITHOUT_NETWORK, str(self.python), *map(str, arguments)]
        return subprocess.run(command, env=clean, cwd=self.place, capture_output=True, text=True)


def _without_network() -> list[str]:
    """Start of a command that runs without network; empty where namespaces are not allowed."""
    command = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return []
    return command if allowed else []


WITHOUT_NETWORK = _without_network()


def requirements(bundle: Bundle, version: str) -> list[str]:
    """Arguments of pip: our pins, or the bundle's own versions on a Python that the pins exclude."""
    if version == THIS:
        return ["--constraint", str(ROOT / "constraints.txt"), "numpy", "apache-tvm-ffi"]
    return ["numpy", f"apache-tvm-ffi=={bundle.manifest.versions.tvm_ffi}"]


@pytest.fixture(scope="module", params=PYTHONS)
def machine(
    request: pytest.FixtureRequest, directory: Path, bundle: Bundle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    place = tmp_path_factory.mktemp(f"machine-{request.param}")
    # A pip of its own takes longer to install than both packages, and so does compiling all their modules.
    subprocess.run([PYTHONS[request.param], "-m", "venv", "--without-pip", place / "venv"], check=True)
    python = place / "venv" / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-compile", *requirements(bundle, request.param)]
    subprocess.run(install, check=True)
    copy = shutil.copytree(directory, place / "elsewhere")
    yield Machine(python, copy, place)
    # A third of a gigabyte for each Python.
    shutil.rmtree(copy)


def state(bundle: Path) -> dict[str, tuple[int, int, int]]:
    """Size, mode and time of change of everything in a bundle."""
    found = {path: path.stat() for path in [bundle, *sorted(bundle.rglob("*"))]}
    return {str(path): (stat.st_size, stat.st_mode, stat.st_mtime_ns) for path, stat in found.items()}


INSTALLED = "from importlib.metadata import distributions; print(*(each.name for each in distributions()))"


def test_nothing_else_is_installed(machine: Machine) -> None:
    names = set(machine.run("-c", INSTALLED).stdout.split())
    assert {"numpy", "apache-tvm-ffi"} <= names <= {"numpy", "apache-tvm-ffi", "typing_extensions"}


def test_the_command_speaks_and_leaves_the_bundle_as_it_was(machine: Machine) -> None:
    before = state(machine.bundle)
    output = machine.place / "hello.wav"
    done = machine.run(
        machine.bundle / "runtime_min.pyz", "--phonemes", HELLO, "--format", "pcm16", "-o", output
    )
    assert done.returncode == 0, done.stderr
    with wave.open(str(output)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
        assert file.getnframes() % 600 == 0 and file.getnframes() > 24_000 // 2
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32767
    assert 0.02 < np.sqrt(np.square(samples).mean()) < 0.2
    assert state(machine.bundle) == before


def test_the_command_compares_every_stage_with_what_kokoro_said(
    machine: Machine, kokoro_said: ExtensionFiles
) -> None:
    give(machine.bundle, kokoro_said)
    done = machine.run(machine.bundle / "runtime_min.pyz", "--self-test")
    assert done.returncode == 0, done.stdout + done.stderr
    _, *table, verdict = done.stdout.splitlines()
    assert {row.split()[0] for row in table} == {*STAGE_NAMES, "whole"}
    assert all(row.endswith(" ok") for row in table)
    assert verdict.startswith(f"This bundle matches kokoro: {len(table)} figures, ")


APP = """
import json, sys
sys.path.insert(0, sys.argv[1] + "/runtime_min.pyz")
from runtime_min import Bundle
audio = Bundle.load(sys.argv[1]).synthesize(phonemes=sys.argv[2], voice="af_heart", speed=1.0, seed=0)
audio.samples.tofile(sys.argv[3])
print(json.dumps({
    "durations": audio.durations.tolist(),
    "rate": audio.sample_rate,
    "type": str(audio.samples.dtype),
    "numpy": sys.modules["numpy"].__version__,
    "modules": sorted(sys.modules),
    "runtime": sys.modules["runtime_min"].__file__,
}))
"""


def test_an_app_speaks_with_the_bundles_own_runtime_and_imports_nothing_heavy(
    machine: Machine, bundle: Bundle
) -> None:
    output = machine.place / "samples"
    done = machine.run("-c", APP, machine.bundle, HELLO, output)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["runtime"].startswith(str(machine.bundle / "runtime_min.pyz"))
    assert not set(HEAVY) & set(told["modules"])
    here = bundle.synthesize(phonemes=HELLO)
    assert told["durations"] == here.durations.tolist()
    assert (told["rate"], told["type"]) == (24_000, "float32")
    # Another numpy may round the noise's logarithms and cosines in another way.
    tolerance = 0 if told["numpy"] == np.__version__ else 1e-5
    np.testing.assert_allclose(np.fromfile(output, np.float32), here.samples, rtol=0, atol=tolerance)


def test_a_bundle_that_nobody_may_write_speaks(machine: Machine) -> None:
    for path in [machine.bundle, *machine.bundle.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = state(machine.bundle)
    try:
        done = machine.run(
            machine.bundle / "runtime_min.pyz", "--phonemes", "ə", "-o", machine.place / "short.wav"
        )
        assert done.returncode == 0, done.stderr
        assert state(machine.bundle) == before
    finally:
        for path in [machine.bundle, *machine.bundle.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


# Where everything is installed.

TORCH_AFTERWARDS = """
import sys
from runtime_min import Bundle
bundle = Bundle.load(sys.argv[1])
first = bundle.synthesize(phonemes="ə").samples.tobytes()
print(sorted({"torch", "tvm", "msgpack", "kokoro", "exporter"} & set(sys.modules)))
import torch
print(torch.ones(3).sum().item(), bundle.synthesize(phonemes="ə").samples.tobytes() == first)
"""


def test_torch_is_not_imported_where_it_is_installed_and_can_be_afterwards(directory: Path) -> None:
    done = run_python("-c", TORCH_AFTERWARDS, directory)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "3.0 True"]
