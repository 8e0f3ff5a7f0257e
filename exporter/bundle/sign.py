"""Detached Ed25519 signatures: they tell who made a bundle, which hashes alone do not.

A signature covers the bytes of the manifest, which names the digest of everything else. So it holds for the
bundle, for every copy of it and for its archive. It lies beside the bundle, because a bundle's directory
holds what its manifest lists and nothing more. It is 64 bytes as `openssl pkeyutl -rawin` reads and writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

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
"""Refuses the bytes of a manifest, or not."""


class KeyFileError(ExportError):
    """A file holds no Ed25519 key of the kind that is needed."""

    exit_code = 3


class SignatureMissingError(BundleError):
    """There is no signature, or what is there is none."""


class WrongSignatureError(BundleError):
    """The signature was made with another key or for another manifest."""


def signature_of(bundle: Path) -> Path:
    """Returns where the signature of a bundle or of its archive lies."""
    path = Path(os.path.abspath(bundle))
    return path.with_name(path.name + SUFFIX)


def sign_bundle(bundle: Path, key: Path, signature: Path) -> None:
    """Checks a bundle to the last bit and writes its signature.

    Args:
        bundle: the directory.
        key: a private key in PEM (``openssl genpkey -algorithm ed25519``), not encrypted.
        signature: file to write.

    Raises:
        KeyFileError: there is no such key.
        BundleError: the bundle is damaged, and nothing is signed.
        OutputError: the signature cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    private = _read_key(key, "private", lambda data: load_pem_private_key(data, None))
    if not isinstance(private, Ed25519PrivateKey):
        raise _not_a_key(key, "private", type(private).__name__)
    made: list[bytes] = []
    # What is signed is what was checked: the same bytes.
    verify_bundle(bundle, lambda manifest: made.append(private.sign(manifest)))
    write_file(signature, made[0])


def verify_bundle(bundle: Path, *checks: ManifestCheck) -> Manifest:
    """Verifies a bundle as the runtime does, and its manifest by each of `checks` before it is parsed.

    Raises:
        BundleError: something is wrong with it.
    """
    files = BundleFiles(Path(bundle))
    try:
        data = files.read_manifest(MAXIMUM_BYTES + 1)
        for check in checks:
            check(data)
        manifest = parse_manifest(data)
        files.expect(manifest.files)
        files.verify()
        return manifest
    finally:
        files.close()


def checks(sha256: str | None, key: Path | None, signature: Path) -> list[ManifestCheck]:
    """Returns what a manifest must pass: the pinned digest, and the signature by a public key."""
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
        KeyFileError: there is no such key.
        SignatureMissingError: there is no such signature.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    public = _read_key(key, "public", load_pem_public_key)
    if not isinstance(public, Ed25519PublicKey):
        raise _not_a_key(key, "public", type(public).__name__)
    signed = _read_signature(signature)

    def check(manifest: bytes) -> None:
        try:
            public.verify(signed, manifest)
        except InvalidSignature:
            raise WrongSignatureError(
                f"{signature} does not sign this manifest with the key of {key}: expected the bundle as its "
                "maker signed it. Do not load it; fetch bundle and signature again, or ask for the right key."
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
            f"{path} is no signature: expected {_BYTES} bytes, found {found}. Fetch it again."
        )
    return data


def _read_key(path: Path, kind: str, load: Callable[[bytes], object]) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        with path.open("rb") as file:
            return load(file.read(_LARGEST_KEY))
    except OSError as error:
        raise KeyFileError(f"The key {path} cannot be read: {error.strerror}.") from None
    except TypeError:
        raise KeyFileError(
            f"The key {path} is encrypted: expected a plain one, as 'openssl pkey -in {path}' writes it."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _not_a_key(path, kind, "something else") from None


def _not_a_key(path: Path, kind: str, found: str) -> KeyFileError:
    return KeyFileError(
        f"{path} is no such key: expected an Ed25519 {kind} key in PEM, found {found}. Make one with "
        "'openssl genpkey -algorithm ed25519 -out private.pem', and its public half with "
        "'openssl pkey -in private.pem -pubout -out public.pem'."
    )
