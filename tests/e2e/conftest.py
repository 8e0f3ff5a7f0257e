"""Fixtures of the whole model: one export for all tests, loaded bundles, and kokoro's answers.

Processes with kokoro end with the file that needs them: each takes 1.5 GB.

The process of the tests never imports TVM's compiler: everything that compiles runs in a process of its own.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter import directories
from exporter.bundle.write import ExtensionFiles
from exporter.compiler.library import StoredWeights
from exporter.compiler.targets import Target
from exporter.model.config import OFFICIAL_CONFIG
from exporter.model.weight_packages import joined_file
from exporter.parity.answers import Kokoro
from exporter.reference.process import Reference
from runtime_min import Bundle
from tests.support.exported_self_test import self_test
from tests.support.paths import PROVING, ROOT
from tests.support.shared import made_once
from tests.support.stored_reference import asking_kokoro
from tests.support.tiny import runtime_alone
from tests.support.utterances import HELLO

PRECISION = "float16"
"""Precision of the bundles, which is that of the command's own choice for a CPU."""
# Buckets differ in the memory that is planned, not in code: there is one of a kind where not all is proven.
TEXT_BUCKETS = (32, 512) if PROVING else (512,)
FRAME_BUCKETS = (64, 5120) if PROVING else (5120,)

ExportArguments = Callable[..., list[str]]
Export = Callable[..., subprocess.CompletedProcess[str]]


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without numbers of threads, and with this project to import."""
    return runtime_alone.environment(**{"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **changes})


def run_python(*arguments: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Runs this Python in a process of its own; `changes` are variables of its environment."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment(**changes), cwd=ROOT, capture_output=True, text=True)


def assert_refused_here(bundle: Path, target: Target, output: Path) -> None:
    """Asserts that this machine refuses a bundle for `target` in one sentence and writes nothing."""
    done = run_python("-m", "runtime_min", bundle, "--phonemes", HELLO, "-o", output)
    assert done.returncode == 5
    (line,) = done.stderr.splitlines()
    expected = f"for {target.name} ({target.system} on {target.machine}) and this machine is linux on x86_64"
    assert expected in line
    assert not output.exists()


@pytest.fixture(scope="session")
def export_arguments() -> ExportArguments:
    """Arguments of an export with the session's buckets; compiled libraries are cached as the user's are."""
    cache = os.environ.get("KOKORO_EXPORT_TEST_CACHE") or str(directories.libraries())

    def arguments(output: Path, *more: str) -> list[str]:
        return [
            *("bundle", "--checkpoint", "packages", "--cpu-level", "host", "--no-validate", "--no-native"),
            *("--text-buckets", ",".join(map(str, TEXT_BUCKETS))),
            *("--frame-buckets", ",".join(map(str, FRAME_BUCKETS))),
            *("--cache-dir", cache, "-o", str(output), *more),
        ]

    return arguments


@pytest.fixture(scope="session")
def export(export_arguments: ExportArguments) -> Export:
    """Exports in a process of its own."""
    return lambda output, *more: run_python("-m", "exporter", *export_arguments(output, *more))


@pytest.fixture(scope="session")
def directory(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the real weights and voices, on the disk: one for all processes of the tests."""

    def make(place: Path) -> None:
        done = export(place / "bundle")
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "exported", make) / "bundle"


@pytest.fixture(scope="session")
def all_levels(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with every CPU level of this machine's target."""
    output = tmp_path_factory.mktemp("levels") / "bundle"
    done = export(output, "--cpu-level", "all", "--text-buckets", "512", "--frame-buckets", "5120")
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="session")
def bundle(directory: Path) -> Iterator[Bundle]:
    """The bundle with the real weights and voices, loaded."""
    with Bundle.load(directory) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def checkpoint_file() -> Path:
    """The real weights, rounded to 8 bits, which belong to `OFFICIAL_CONFIG`."""
    return joined_file()


@pytest.fixture(scope="session")
def kokoro_said(tmp_path_factory: pytest.TempPathFactory) -> ExtensionFiles:
    """The self-test of the bundle: kokoro's answers. Loading kokoro takes longer than all other of it."""

    def make(place: Path) -> None:
        said = self_test("host", PRECISION, TEXT_BUCKETS, FRAME_BUCKETS)
        (place / "said").write_bytes(pickle.dumps(said))

    said: ExtensionFiles = pickle.loads((made_once(tmp_path_factory, "said", make) / "said").read_bytes())
    return said


@pytest.fixture(scope="module")
def kokoro(checkpoint_file: Path) -> Iterator[Kokoro]:
    """Kokoro's answers with the bundle's weights; `make prove` computes all of them again."""
    with asking_kokoro((checkpoint_file, OFFICIAL_CONFIG), StoredWeights(PRECISION)) as answering:
        yield answering


@pytest.fixture(scope="module")
def exact_kokoro(checkpoint_file: Path) -> Iterator[Kokoro]:
    """Kokoro's answers with the checkpoint's own weights, as bundles of float32 store them."""
    with asking_kokoro((checkpoint_file, OFFICIAL_CONFIG)) as answering:
        yield answering


@pytest.fixture(scope="module")
def rounded(checkpoint_file: Path, precision: str) -> Iterator[Kokoro]:
    """Kokoro's answers with weights as a bundle of the module's precision stores them."""
    with asking_kokoro((checkpoint_file, OFFICIAL_CONFIG), StoredWeights(precision)) as answering:
        yield answering


@pytest.fixture(scope="module")
def reference(kokoro: Kokoro) -> Reference:
    """kokoro in float32 arithmetic, with the bundle's weights."""
    return kokoro.reference
