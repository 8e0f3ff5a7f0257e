"""The work of the command. Each function takes a bundle's directory or the file into which it was packed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ..engine.machine import this_machine
from ..format.archive import PackedBundle, is_archive, verify_archive
from ..format.installed import located
from ..format.manifest import Manifest, manifest_entries
from ..format.origin import ManifestCheck, origin_checks, read_key
from ..format.verify import read_manifest, verify_bundle
from ..output.console import print_line
from .manifest_tables import as_text
from .unpack import unpack_archive


def inspect(path: Path, *, as_json: bool = False) -> None:
    """Prints a bundle's manifest, and checks nothing else of it.

    Raises:
        BundleError: there is no sound manifest.
    """
    manifest = _manifest(located(path))
    machine = this_machine()
    print_line(json.dumps(manifest_entries(manifest), indent=2) if as_json else as_text(manifest, machine))


def verify(
    path: Path, sha256: str | None, key: Path | None, signature: Path | None, *, strict: bool = False
) -> None:
    """Checks every file that a bundle's manifest lists, and the bundle's origin; prints the result.

    Args:
        path: the bundle.
        sha256: digest that the manifest must have, in hexadecimal.
        key: file of the public key whose owner must have signed the manifest.
        signature: the signature file, in place of the one beside the bundle.
        strict: refuse files that the manifest does not list.

    Raises:
        BundleError: the bundle is damaged, of another origin, or, if `strict`, not alone in its directory.
        Ed25519KeyError: `key` is not the file of a key, or there is a signature and no key.
    """
    path, digests = located(path), list[str]()
    checks = _origin(path, sha256, key, signature)
    # The printed digest is that of the checked bytes.
    checks.append(lambda data: digests.append(hashlib.sha256(data).hexdigest()))
    if is_archive(path):
        manifest = verify_archive(path, checks)
    else:
        manifest = verify_bundle(path, *checks, ignored=() if strict else None)
    signed = f", signed with the key of {key}" if key else ""
    print_line(f"{path}: {len(manifest.files)} files as the manifest lists them{signed}")
    print_line(f"SHA-256 of the manifest: {digests[0]}")


def unpack(
    path: Path,
    output: Path,
    sha256: str | None,
    key: Path | None,
    signature: Path | None,
    *,
    force: bool = False,
) -> None:
    """Writes a packed bundle into a directory, and prints that.

    Args:
        path: the packed bundle.
        output: the directory to create.
        sha256: digest that the manifest must have, in hexadecimal.
        key: file of the public key whose owner must have signed the manifest.
        signature: the signature file, in place of the one beside the archive.
        force: replace an earlier bundle at `output`.

    Raises:
        BundleError: the archive is damaged, or of another origin.
        Ed25519KeyError: `key` is not the file of a key, or there is a signature and no key.
        OutputError: the bundle cannot be written there.
    """
    unpack_archive(path, output, _origin(path, sha256, key, signature), force=force)
    print_line(str(output))


def _origin(path: Path, sha256: str | None, key: Path | None, signature: Path | None) -> list[ManifestCheck]:
    public = None if key is None else read_key(key)
    return origin_checks(path, sha256=sha256, key=public, signature=signature)


def _manifest(path: Path) -> Manifest:
    if not is_archive(path):
        return read_manifest(path)
    with PackedBundle(path) as packed:
        return packed.manifest()[1]
