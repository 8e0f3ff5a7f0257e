"""Writes a bundle into one file, as `runtime_min.format.archive` describes it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from runtime_min.errors import DestinationExistsError, OutputError
from runtime_min.format.archive import END, compressed_path, header, padding
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.compression import WIDTHS, compressed
from runtime_min.format.manifest import MANIFEST_NAME, PARAMETER_SIZES, FileEntry, Manifest
from runtime_min.format.verify import manifest_of
from runtime_min.output.writer import Output


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
                _write_file(output, files, entry, _width(manifest, entry))
            output.write(END)
            output.synchronise()


def _width(manifest: Manifest, entry: FileEntry) -> int:
    """Returns the width in bytes of the numbers in a file; in the parameters, of most of them."""
    if entry.path in {voice.file for voice in manifest.voices}:
        return 4
    if entry.path != manifest.parameters.file:
        return 1
    sizes = dict.fromkeys(WIDTHS, 0)
    for tensor in manifest.parameters.tensors:
        sizes[min(PARAMETER_SIZES[tensor.dtype], max(WIDTHS))] += tensor.bytes
    return max(sizes, key=sizes.__getitem__)


def _write_file(output: Output, files: BundleFiles, entry: FileEntry, width: int) -> None:
    """Writes a file, compressed where that is smaller: twice, because its size comes first."""
    size = sum(map(len, compressed(files.content(entry.path), width)))
    if size < entry.bytes:
        path = compressed_path(entry.path, width)
        _write_member(output, path, size, compressed(files.content(entry.path), width))
    else:
        _write_member(output, entry.path, entry.bytes, files.content(entry.path))


def _write_member(output: Output, path: str, size: int, blocks: Iterable[bytes]) -> None:
    try:
        first = header(path, size)
    except ValueError as error:
        raise OutputError(f"{path} does not fit into an archive ({error}): ship the directory.") from None
    for block in chain([first], blocks, [padding(size)]):
        output.write(block)
