"""Writes the bundle in an archive into a directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..errors import DestinationExistsError
from ..format.archive import PackedBundle
from ..format.manifest import MANIFEST_NAME, Manifest
from ..format.origin import ManifestCheck
from ..output.staging import check_replaceable, is_free, staged, write_errors

_HEADROOM = 1 << 20


def unpack_archive(
    archive: Path, destination: Path, checks: Iterable[ManifestCheck] = (), *, force: bool = False
) -> Manifest:
    """Writes the bundle in an archive into a directory, and checks each file while writing it.

    Args:
        archive: a file that ``kokoro-export pack`` wrote.
        destination: the directory to create.
        checks: checks of the manifest, before anything is written.
        force: replace an earlier bundle at `destination`.

    Raises:
        ArchiveError: the file is not such an archive, or is damaged.
        BundleError: its manifest is wrong or fails a check.
        DestinationExistsError: something is at `destination`.
        NotABundleError: it is something other than a whole bundle or an empty directory, in spite of `force`.
        OutputError: the bundle cannot be written.
    """
    with PackedBundle(archive) as packed:
        data, manifest = packed.manifest(checks)
        needed = manifest.content_bytes + _HEADROOM
        replaceable = check_replaceable if force else _check_free
        with staged(destination, needed, replaceable) as staging, write_errors(destination, needed):
            (staging / MANIFEST_NAME).write_bytes(data)
            for entry in manifest.files:
                path = staging / entry.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as file:
                    file.writelines(packed.content(entry))
            packed.end()
    return manifest


def _check_free(destination: Path) -> None:
    """Checks that nothing is at `destination` or an empty directory, and tells a bundle from other things."""
    check_replaceable(destination)
    if not is_free(destination):
        raise DestinationExistsError(destination)
