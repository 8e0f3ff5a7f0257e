"""The crate for Rust, used as its users do: from what `cargo package` makes, in an empty directory."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import pytest

from exporter.native.bindings import RUST
from runtime_min import Audio
from tests.support.native.examples import run, speak

pytestmark = [
    pytest.mark.machines,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="Rust is not installed: see https://rustup.rs"),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the crate, beside which cargo may write."""
    place = tmp_path_factory.mktemp("sources") / "crate"
    shutil.copytree(RUST, place, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    return place


def test_an_app_with_the_packaged_crate_writes_the_file_that_python_writes(
    sources: Path, complete_bundle: Path, expected: Audio, tmp_path: Path
) -> None:
    # It is compiled on the way, so it needs nothing that is not in it.
    run(["cargo", "package", "--offline", "--quiet"], sources)
    (packed,) = (sources / "target" / "package").glob("*.crate")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    run(["cargo", "new", "--quiet", "--vcs", "none", "app"], tmp_path)
    run(["cargo", "add", "--offline", "--quiet", "--path", tmp_path / packed.stem], tmp_path / "app")
    shutil.copy(RUST / "examples" / "speak.rs", tmp_path / "app" / "src" / "main.rs")
    run(["cargo", "build", "--offline", "--quiet"], tmp_path / "app")
    speak([tmp_path / "app" / "target" / "debug" / "app", complete_bundle], tmp_path, expected)


def test_the_tests_of_the_crate_pass(sources: Path, complete_bundle: Path) -> None:
    printed = run(["cargo", "test", "--offline"], sources, KOKORO_BUNDLE=str(complete_bundle))
    _, own, documentation = re.findall(r"test result: ok\. (\d+) passed", printed)
    assert int(own) >= 10 and int(documentation) == 2


@pytest.mark.parametrize("command", ["clippy --offline --all-targets -- -D warnings", "fmt --check"])
def test_the_tools_of_rust_find_nothing(sources: Path, command: str) -> None:
    tool = command.split()[0]
    if shutil.which(f"cargo-{tool}") is None:
        pytest.skip(f"rustup component add {'rustfmt' if tool == 'fmt' else tool}")
    run(["cargo", *command.split()], sources)
