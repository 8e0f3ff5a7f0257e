"""Detached Ed25519 signatures, which prove who made a bundle; hashes alone do not.

A signature covers the bytes of the manifest, which has the digest of every other file. It is therefore valid
for the bundle, for every copy of it and for its archive. It lies beside the bundle, whose directory holds
only the files that the manifest lists. It has 64 bytes, as `openssl pkeyutl -rawin` reads and writes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from exporter.errors import ExportError
from runtime_min.errors import BundleError
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import Manifest
from runtime_min.format.msgpack import MAXIMUM_BYTES
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import check_pin
from runtime_min.output.writer import write_file

SUFFIX = ".sig"
_BYTES = 64
_LARGEST_KEY = 16 << 10

ManifestCheck = Callable[[bytes], None]
"""Takes the bytes of a manifest and raises an error if it refuses them."""


class KeyFileError(ExportError):
    """A file holds no Ed25519 key of the kind that is needed."""

    exit_code = 3


class SignatureMissingError(BundleError):
    """A signature file is missing, or does not hold a signature."""


class WrongSignatureError(BundleError):
    """The signature was made with another key or for another manifest."""


def signature_of(bundle: Path) -> Path:
    """Returns the path of the signature of a bundle or of its archive."""
    path = Path(os.path.abspath(bundle))
    return path.with_name(path.name + SUFFIX)


def sign_bundle(bundle: Path, key: Path, signature: Path) -> None:
    """Verifies every file of a bundle and writes its signature.

    Args:
        bundle: the directory.
        key: a private key in PEM (``openssl genpkey -algorithm ed25519``), not encrypted.
        signature: file to write.

    Raises:
        KeyFileError: the file does not hold such a key.
        BundleError: the bundle is damaged, and nothing is signed.
        OutputError: the signature cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    private = _read_key(key, lambda data: load_pem_private_key(data, None), Ed25519PrivateKey)
    made: list[bytes] = []
    # The signed bytes are the checked ones.
    verify_bundle(bundle, lambda manifest: made.append(private.sign(manifest)))
    write_file(signature, made[0])


def verify_bundle(bundle: Path, *checks: ManifestCheck) -> Manifest:
    """Verifies a bundle as the runtime does, and its manifest by each of `checks` before it is parsed.

    Raises:
        BundleError: the bundle is damaged, or a check refuses its manifest.
    """
    with closing(BundleFiles(Path(bundle))) as files:
        data = files.read_manifest(MAXIMUM_BYTES + 1)
        for check in checks:
            check(data)
        manifest = parse_manifest(data)
        files.expect(manifest.files)
        files.verify()
        return manifest


def checks(sha256: str | None, key: Path | None, signature: Path) -> list[ManifestCheck]:
    """Returns checks of a manifest for a pinned digest and for a signature by a public key, where given."""
    asked: list[ManifestCheck] = []
    if sha256 is not None:
        asked.append(lambda manifest: check_pin(manifest, sha256))
    if key is not None:
        asked.append(signed_by(key, signature))
    return asked


def signed_by(key: Path, signature: Path) -> ManifestCheck:
    """Returns a check that a manifest was signed by the owner of a key.

    Args:
        key: the public key in PEM (``openssl pkey -in PRIVATE -pubout``).
        signature: the file that `sign_bundle` wrote.

    Raises:
        KeyFileError: the file does not hold such a key.
        SignatureMissingError: the signature is missing or has another length.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    public = _read_key(key, load_pem_public_key, Ed25519PublicKey)
    signed = _read_signature(signature)

    def check(manifest: bytes) -> None:
        try:
            public.verify(signed, manifest)
        except InvalidSignature:
            raise WrongSignatureError(
                f"{signature} does not sign this manifest with the key of {key}. Do not load the bundle; "
                "fetch it and its signature again, or ask its maker for the right key."
            ) from None

    return check


def _read_signature(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SignatureMissingError(
            f"There is no signature at {path} ({error}): fetch it, name it with --signature, or sign."
        ) from None
    if len(data) != _BYTES:
        found = f"{len(data)}" if len(data) < _BYTES else "more"
        raise SignatureMissingError(
            f"{path} is not a signature: expected {_BYTES} bytes, found {found}. Fetch it again."
        )
    return data


def _read_key(path: Path, load: Callable[[bytes], object], expected: Any) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        with path.open("rb") as file:
            key = load(file.read(_LARGEST_KEY))
    except OSError as error:
        raise KeyFileError(f"The key {path} cannot be read: {error.strerror}.") from None
    except TypeError:
        raise KeyFileError(
            f"The key {path} is encrypted: expected a plain one, as 'openssl pkey -in {path}' writes it."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, expected):
        return key
    raise KeyFileError(
        f"{path} is not an {expected.__name__} in PEM. Make a pair of keys with 'openssl genpkey -algorithm "
        "ed25519 -out private.pem' and 'openssl pkey -in private.pem -pubout -out public.pem'."
    )
