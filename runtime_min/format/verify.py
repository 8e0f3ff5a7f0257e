"""Checks a bundle's directory against its manifest, before anything in it is loaded.

A bundle is native code. A directory that passes has every file that the manifest lists, with the listed size
and SHA-256. That shows integrity, not authorship, which `origin` checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from ..errors import UnreadableFileError
from ..threads import choose_threads
from .bundle_files import BundleFiles
from .file_content import open_regular, sha256_of_handle
from .manifest import Manifest
from .msgpack import MAXIMUM_BYTES
from .origin import ManifestCheck, origin_checks
from .parse import parse_manifest


def read_manifest(directory: Path, *, sha256: str | None = None) -> Manifest:
    """Reads and checks the manifest of the bundle in `directory`.

    Args:
        directory: the bundle.
        sha256: digest that the manifest must have, in hexadecimal.

    Raises:
        MissingFileError: there is no bundle.
        ManifestDigestError: the manifest is not the pinned one.
        BundleError: the manifest is damaged, breaks the schema or has another version.
    """
    with BundleFiles(directory) as files:
        return manifest_of(files, origin_checks(directory, sha256=sha256))


def manifest_of(files: BundleFiles, checks: Iterable[ManifestCheck] = ()) -> Manifest:
    """Reads the manifest of an open bundle, applies `checks` to its bytes, and only then parses it.

    Raises:
        BundleError: there is no sound manifest, or a check refuses it.
    """
    data = files.read_manifest(MAXIMUM_BYTES + 1)
    for check in checks:
        check(data)
    manifest = parse_manifest(data)
    files.expect(manifest)
    return manifest


def verify_bundle(
    directory: Path, *checks: ManifestCheck, ignored: Collection[str] | None = None
) -> Manifest:
    """Verifies a bundle as loading does, and its manifest by each of `checks` before it is parsed.

    Args:
        directory: the bundle.
        checks: checks of the manifest's bytes.
        ignored: if given, the directory may hold nothing that the manifest does not list, except files of
            these names.

    Raises:
        BundleError: the bundle is damaged, or a check refuses its manifest.
        UnexpectedFileError: the directory holds something else.
    """
    with BundleFiles(directory) as files:
        manifest = manifest_of(files, checks)
        if ignored is not None:
            files.check_nothing_else(ignored)
        files.verify(choose_threads(None))
        return manifest


def verify_files(directory: Path, manifest: Manifest) -> None:
    """Checks that `directory` holds what `manifest` lists, to the last bit.

    Raises:
        MissingFileError: a listed file is not there.
        NotRegularFileError: a pipe, device or directory is in the place of a file.
        DamagedFileError: a file has another size or digest.
    """
    with BundleFiles(directory) as files:
        files.expect(manifest)
        files.verify(choose_threads(None))


def sha256_of(path: Path, start: int = 0, most: int = 1 << 62) -> str:
    """Returns the SHA-256 of a file, or of its `most` bytes from `start` on, in hexadecimal.

    Raises:
        UnreadableFileError: the file cannot be read.
    """
    try:
        with open(path, "rb", opener=open_regular) as file:
            return sha256_of_handle(file.fileno(), most, start)
    except OSError as failure:
        raise UnreadableFileError(f"{path} cannot be read ({failure.strerror}): correct that.") from None
