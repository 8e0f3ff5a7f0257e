"""The checkpoint and the configuration that a bundle was made from."""

from __future__ import annotations

from pathlib import Path

from exporter.errors import CheckpointError
from runtime_min.format.manifest import Manifest
from runtime_min.format.verify import sha256_of


def reference_files(
    manifest: Manifest, checkpoint: str | None = None, config: Path | None = None
) -> tuple[Path, Path]:
    """Returns the checkpoint and the configuration that a bundle was made from.

    Args:
        manifest: the bundle's.
        checkpoint: as in `exporter.model.checkpoint.load`; None takes what the manifest names.
        config: the configuration that belongs to a file.

    Raises:
        CheckpointError: they cannot be had, are other ones than the bundle's, or do not fit each other.
        ConfigError: the configuration is not one of a Kokoro model.
    """
    from exporter.model.checkpoint import check, checkpoint_files

    source = checkpoint or manifest.model.source
    if source == "file" and checkpoint is None:
        raise CheckpointError(
            f"The bundle was made from a file of the name {manifest.model.name}: name it and its "
            "configuration with --checkpoint PATH --config PATH, so that it can be compared."
        )
    path, config_path = checkpoint_files(source, config)
    _check_digest("configuration", "--config", config_path, manifest.model.config_sha256)
    _check_digest("checkpoint", "--checkpoint", path, manifest.model.sha256)
    if source not in ("hub", "packages", "synthetic"):
        # A digest of the manifest says nothing about a file, and kokoro's own loader compares little.
        check(path, config_path)
    return path, config_path


def _check_digest(what: str, option: str, path: Path, expected: str) -> None:
    if not path.is_file():
        raise CheckpointError(f"There is no {what} at {path}: name the one of the bundle with {option} PATH.")
    found = sha256_of(path)
    if found != expected:
        raise CheckpointError(
            f"{path} is not the {what} that the bundle was made from: expected SHA-256 {expected}, found "
            f"{found}. Name that one with {option} PATH, or export the bundle again from this one."
        )
