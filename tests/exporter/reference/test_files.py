"""The checkpoint and the configuration of a bundle are found, and others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.errors import CheckpointError, ConfigError
from exporter.model import checkpoint, hub, synthetic
from exporter.reference.files import reference_files
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import read_manifest, sha256_of


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "my.pth", tmp_path / "my.json"
    for path in paths:
        path.write_text(path.name)
    return paths


def made_from(source: str, files: tuple[Path, Path], bundle: Path) -> Manifest:
    """The bundle's manifest, as if it had been made from these files."""
    made = read_manifest(bundle)
    path, config = files
    model = made.model._replace(source=source, sha256=sha256_of(path), config_sha256=sha256_of(config))
    return made._replace(model=model)


def test_a_bundle_of_files_takes_those_files_and_asks_for_both(
    files: tuple[Path, Path], sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_from("file", files, sound)
    # The digests are the manifest's, and kokoro's own loader would take whatever the files say.
    with pytest.raises(ConfigError, match=r"my\.json is not JSON"):
        reference_files(made, str(files[0]), files[1])
    checked = []
    monkeypatch.setattr(checkpoint, "check", lambda *paths: checked.append(paths))
    assert reference_files(made, str(files[0]), files[1]) == files
    assert checked == [files]
    with pytest.raises(CheckpointError, match="--checkpoint PATH --config PATH"):
        reference_files(made)
    with pytest.raises(CheckpointError, match="--config PATH"):
        reference_files(made, str(files[0]))
    with pytest.raises(CheckpointError, match=r"no checkpoint at .*other\.pth"):
        reference_files(made, str(files[0].with_name("other.pth")), files[1])


@pytest.mark.parametrize(("changed", "option"), [(0, "--checkpoint"), (1, "--config")])
def test_another_file_than_the_bundles_is_refused_with_both_digests(
    files: tuple[Path, Path], sound: Path, changed: int, option: str
) -> None:
    made = made_from("file", files, sound)
    expected = sha256_of(files[changed])
    files[changed].write_text("another")
    with pytest.raises(CheckpointError) as caught:
        reference_files(made, str(files[0]), files[1])
    for part in (str(files[changed]), expected, sha256_of(files[changed]), f"{option} PATH"):
        assert part in str(caught.value)


@pytest.mark.parametrize("source", ["synthetic", "hub"])
def test_the_checkpoint_is_made_or_fetched_again(
    monkeypatch: pytest.MonkeyPatch,
    files: tuple[Path, Path],
    sound: Path,
    source: str,
) -> None:
    monkeypatch.setattr(checkpoint, "OFFICIAL_CONFIG", files[1])
    monkeypatch.setattr(synthetic, "ensure_file", lambda config, cache: files[0])
    by_name = {"kokoro-v1_0.pth": files[0], "config.json": files[1]}
    monkeypatch.setattr(hub, "download", by_name.__getitem__)
    assert reference_files(made_from(source, files, sound)) == files
