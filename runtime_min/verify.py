"""Checks a bundle's directory against its manifest, before anything in it is loaded.

A bundle is native code. What passes here has exactly the files that the manifest lists, each a regular
file of its own with the size and the SHA-256 that stand there. That shows integrity, not authorship:
who must know where a bundle comes from pins the manifest's own digest.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .errors import DamagedFileError, ManifestDigestError, MissingFileError, UnexpectedFileError
from .manifest import MANIFEST_NAME, FileEntry, Manifest
from .msgpack import MAXIMUM_BYTES
from .parse import parse_manifest

_BLOCK = 1 << 20
_ADVICE = "copy or export the bundle again"


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
    # Path.is_dir would raise where a name is too long.
    if not os.path.isdir(directory):
        raise MissingFileError(f"{directory} is no bundle: expected a directory with {MANIFEST_NAME}.")
    data = _read_bounded(directory / MANIFEST_NAME)
    if sha256 is not None:
        found = hashlib.sha256(data).hexdigest()
        if found != sha256.lower():
            raise ManifestDigestError(sha256, found)
    return parse_manifest(data)


def verify_files(directory: Path, manifest: Manifest) -> None:
    """Checks that `directory` holds exactly what `manifest` lists, to the last bit.

    Raises:
        MissingFileError: a listed file is not there.
        UnexpectedFileError: something else is there, or a link or device in place of a file.
        DamagedFileError: a file has another size or digest.
    """
    found = dict(_walk(directory, ""))
    expected = {entry.path: entry for entry in manifest.files}
    missing = sorted(expected.keys() - found.keys())
    if missing:
        raise MissingFileError(f"The bundle {directory} lacks {', '.join(missing[:5])}: {_ADVICE}.")
    extra = sorted(found.keys() - expected.keys() - {MANIFEST_NAME})
    if extra:
        raise UnexpectedFileError(
            f"The bundle {directory} holds {', '.join(extra[:5])}, which its manifest does not list: "
            f"remove what does not belong there, or {_ADVICE}."
        )
    # Sizes first: they cost nothing and name a cut-off copy at once.
    for path, entry in expected.items():
        if found[path] != entry.bytes:
            raise DamagedFileError(
                f"{directory / path} should have {entry.bytes} bytes and has {found[path]}: {_ADVICE}."
            )
    _check_digests(directory, manifest.files)


def sha256_of(path: Path, most: int = 1 << 62) -> str:
    """Returns the SHA-256 of a file's first `most` bytes, in hexadecimal.

    Raises:
        MissingFileError: the file cannot be read.
    """
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK))
    left = most
    try:
        with open(path, "rb", buffering=0) as file:
            while left and (count := file.readinto(block[: min(left, _BLOCK)])):
                digest.update(block[:count])
                left -= count
    except OSError as failure:
        raise MissingFileError(f"{path} cannot be read ({failure.strerror}): {_ADVICE}.") from None
    return digest.hexdigest()


def _check_digests(directory: Path, files: tuple[FileEntry, ...]) -> None:
    # Largest first, so that the threads end together; hashlib releases the interpreter's lock.
    entries = sorted(files, key=lambda entry: -entry.bytes)
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        # A file that grew after its size was read shows by the one byte more.
        digests = pool.map(lambda entry: sha256_of(directory / entry.path, entry.bytes + 1), entries)
        for entry, digest in zip(entries, digests, strict=True):
            if digest != entry.sha256:
                raise DamagedFileError(
                    f"{directory / entry.path} should have SHA-256 {entry.sha256}, has {digest}: {_ADVICE}."
                )


def _walk(directory: Path, prefix: str) -> Iterator[tuple[str, int]]:
    """Yields relative path and size of every regular file; anything but files and directories is refused."""
    with os.scandir(directory / prefix) as entries:
        for entry in entries:
            path = prefix + entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                yield from _walk(directory, path + "/")
            elif stat.S_ISREG(status.st_mode):
                yield path, status.st_size
            else:
                raise UnexpectedFileError(
                    f"{directory / path} is a link, pipe or device; expected regular files only: {_ADVICE}."
                )


def _read_bounded(path: Path) -> bytes:
    """Reads the manifest, which must be a regular file within the reader's limit."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise UnexpectedFileError(f"{path} is no regular file: {_ADVICE}.")
        with path.open("rb") as file:
            return file.read(MAXIMUM_BYTES + 1)
    except FileNotFoundError:
        raise MissingFileError(f"There is no {path}: {path.parent} is no bundle.") from None
    except OSError as failure:
        raise MissingFileError(f"{path} cannot be read ({failure.strerror}): {_ADVICE}.") from None
