"""Writes a bundle into one file, as `runtime_min.format.archive` describes it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from runtime_min.errors import DestinationExistsError, OutputError
from runtime_min.format.archive import END, header, padding
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import MANIFEST_NAME
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
                _write_member(output, entry.path, entry.bytes, files.content(entry.path))
            output.write(END)
            output.synchronise()


def _write_member(output: Output, path: str, size: int, blocks: Iterable[bytes]) -> None:
    try:
        first = header(path, size)
    except ValueError as error:
        raise OutputError(f"{path} does not fit into an archive ({error}): ship the directory.") from None
    for block in chain([first], blocks, [padding(size)]):
        output.write(block)
