"""Gives a bundle another manifest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from exporter.bundle.write import list_files, write_manifest
from runtime_min.format.manifest import MANIFEST_NAME, Manifest


def rewrite(bundle: Path, manifest: Manifest) -> Manifest:
    """Puts `manifest` in the place of a bundle's own, made one of the files that are there."""
    (bundle / MANIFEST_NAME).unlink()
    made = replace(manifest, files=list_files(bundle))
    write_manifest(bundle, made)
    return made
