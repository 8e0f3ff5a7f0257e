"""The checkpoint and the configuration of a bundle are found, and others are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exporter.bundle.write import write_bundle
from exporter.errors import CheckpointError
from exporter.model import checkpoint, hub, synthetic
from exporter.reference.files import reference_files
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest, sha256_of
from tests.support.tiny_bundle import dummy_contents


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    directory = tmp_path_factory.mktemp("inputs")
    path = write_bundle(directory / "bundle", dummy_contents(directory))
    return path, read_manifest(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "my.pth", tmp_path / "my.json"
    for path in paths:
        path.write_text(path.name)
    return paths


def made_from(source: str, files: tuple[Path, Path], manifest: tuple[Path, Manifest]) -> Manifest:
    path, config = files
    model = replace(manifest[1].model, source=source, sha256=sha256_of(path), config_sha256=sha256_of(config))
    return replace(manifest[1], model=model)


def test_a_bundle_of_a_file_takes_that_file(
    files: tuple[Path, Path], manifest: tuple[Path, Manifest]
) -> None:
    made = made_from("file", files, manifest)
    assert reference_files(made, str(files[0]), files[1]) == files


def test_a_bundle_of_a_file_asks_for_both(files: tuple[Path, Path], manifest: tuple[Path, Manifest]) -> None:
    made = made_from("file", files, manifest)
    with pytest.raises(CheckpointError, match="--checkpoint PATH --config PATH"):
        reference_files(made)
    with pytest.raises(CheckpointError, match="--config PATH"):
        reference_files(made, str(files[0]))


@pytest.mark.parametrize(("changed", "option"), [(0, "--checkpoint"), (1, "--config")])
def test_another_file_than_the_bundles_is_refused_with_both_digests(
    files: tuple[Path, Path], manifest: tuple[Path, Manifest], changed: int, option: str
) -> None:
    made = made_from("file", files, manifest)
    expected = sha256_of(files[changed])
    files[changed].write_text("another")
    with pytest.raises(CheckpointError) as caught:
        reference_files(made, str(files[0]), files[1])
    for part in (str(files[changed]), expected, sha256_of(files[changed]), f"{option} PATH"):
        assert part in str(caught.value)


def test_a_file_that_is_not_there_is_named(files: tuple[Path, Path], manifest: tuple[Path, Manifest]) -> None:
    made = made_from("file", files, manifest)
    with pytest.raises(CheckpointError, match=r"no checkpoint at .*other\.pth"):
        reference_files(made, str(files[0].with_name("other.pth")), files[1])


@pytest.mark.parametrize("source", ["synthetic", "hub"])
def test_the_checkpoint_is_made_or_fetched_again(
    monkeypatch: pytest.MonkeyPatch,
    files: tuple[Path, Path],
    manifest: tuple[Path, Manifest],
    source: str,
) -> None:
    monkeypatch.setattr(checkpoint, "OFFICIAL_CONFIG", files[1])
    monkeypatch.setattr(synthetic, "ensure_file", lambda config, cache: files[0])
    by_name = {"kokoro-v1_0.pth": files[0], "config.json": files[1]}
    monkeypatch.setattr(hub, "download", by_name.__getitem__)
    assert reference_files(made_from(source, files, manifest)) == files
