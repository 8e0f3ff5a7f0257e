"""Writes a bundle into one file, and the bundle in such a file into a directory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from exporter.bundle.staging import (
    DestinationExistsError,
    check_replaceable,
    is_free,
    staged,
    write_errors,
)
from runtime_min.errors import OutputError
from runtime_min.format.archive import END, PackedBundle, header, padding
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import MANIFEST_NAME, Manifest
from runtime_min.format.origin import ManifestCheck
from runtime_min.format.verify import manifest_of
from runtime_min.output.writer import Output

_HEADROOM = 1 << 20


def pack_bundle(bundle: Path, archive: Path, *, force: bool = False) -> None:
    """Checks a bundle and writes it into one file.

    Args:
        bundle: the directory.
        archive: the file to write.
        force: replace a file that exists.

    Raises:
        BundleError: the bundle is damaged.
        DestinationExistsError: `archive` exists.
        OutputError: the archive cannot be written.
    """
    if archive.is_file() and not force:
        raise DestinationExistsError(archive)
    with BundleFiles(bundle) as files:
        found: list[bytes] = []
        manifest = manifest_of(files, [found.append])
        files.check_contents()
        with Output(archive) as output:
            _write_member(output, MANIFEST_NAME, len(found[0]), found)
            for entry in manifest.files:
                _write_member(output, entry.path, entry.bytes, files.blocks(entry.path))
            output.write(END)
            output.synchronise()


def unpack_archive(
    archive: Path, destination: Path, checks: Iterable[ManifestCheck] = (), *, force: bool = False
) -> Manifest:
    """Writes the bundle in an archive into a directory, and checks each file while writing it.

    Args:
        archive: a file that `pack_bundle` wrote.
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
        needed = sum(entry.bytes for entry in manifest.files) + _HEADROOM
        replaceable = check_replaceable if force else _check_free
        with staged(destination, needed, replaceable) as staging, write_errors(destination, needed):
            (staging / MANIFEST_NAME).write_bytes(data)
            for entry in manifest.files:
                path = staging / entry.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as file:
                    file.writelines(packed.blocks(entry))
            packed.end()
    return manifest


def _check_free(destination: Path) -> None:
    """Checks that nothing is at `destination` or an empty directory, and tells a bundle from other things."""
    check_replaceable(destination)
    if not is_free(destination):
        raise DestinationExistsError(destination)


def _write_member(output: Output, path: str, size: int, blocks: Iterable[bytes]) -> None:
    try:
        first = header(path, size)
    except ValueError as error:
        raise OutputError(f"{path} does not fit into an archive ({error}): ship the directory.") from None
    for block in chain([first], blocks, [padding(size)]):
        output.write(block)
