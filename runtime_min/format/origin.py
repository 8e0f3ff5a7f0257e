"""The origin of a bundle: its manifest has a pinned digest, or is signed with the maker's key.

The manifest has the digest of every other file, so its origin is that of the bundle, of every copy and of the
archive. It is checked before it is parsed. A signature has 64 bytes and lies beside the bundle.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..errors import Ed25519KeyError, ManifestDigestError, SignatureError
from .file_content import open_regular

CONTEXT = b"kokoro-bundle signature 1\n"
"""Precedes the manifest in the signed message, so that nothing that was signed for another purpose fits."""
SUFFIX = ".sig"

SIGNATURE_BYTES = 64
_KEY_BYTES = 32
_LARGEST_KEY_FILE = 4096
_PEM = re.compile(
    # The encoding of RFC 8410 in base64: what all Ed25519 keys begin with, and 32 bytes in their only form.
    rb"\s*-----BEGIN PUBLIC KEY-----\s+MCowBQYDK2VwAyEA([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)\s+"
    rb"-----END PUBLIC KEY-----\s*"
)

ManifestCheck = Callable[[bytes], None]
"""Takes the bytes of a manifest and raises an error if it refuses them."""


def origin_checks(
    bundle: Path, *, sha256: str | None = None, key: bytes | None = None, signature: Path | None = None
) -> list[ManifestCheck]:
    """Returns the checks of a manifest that the caller asks for.

    Args:
        bundle: the bundle or its archive.
        sha256: digest that the manifest must have, in hexadecimal.
        key: public key whose owner must have signed the manifest: 32 bytes, or PEM.
        signature: the signature file, in place of the one beside the bundle.

    Raises:
        Ed25519KeyError: `key` is not such a key, or there is a signature and no key.
    """
    checks: list[ManifestCheck] = []
    if sha256 is not None:
        checks.append(partial(check_pin, sha256=sha256))
    if key is not None:
        checks.append(partial(check_signature, key=decode_key(key), path=signature or signature_of(bundle)))
    elif signature is not None:
        raise Ed25519KeyError(
            f"The signature {signature} cannot be checked without its maker's public key: give the key, too."
        )
    return checks


def check_pin(manifest: bytes, sha256: str) -> None:
    """Compares the manifest's digest with the pinned one, in hexadecimal.

    Raises:
        ManifestDigestError: it is another.
    """
    found = hashlib.sha256(manifest).hexdigest()
    if found != sha256.lower():
        raise ManifestDigestError(sha256, found)


def check_signature(manifest: bytes, key: bytes, path: Path) -> None:
    """Checks that the owner of the public key, 32 bytes, signed the manifest.

    Raises:
        SignatureError: the file at `path` is missing or is not a signature, or the signature lacks the
            context, or was made with another key or for other bytes.
    """
    from .ed25519 import verify

    signature = _read_signature(path)
    if verify(key, CONTEXT + manifest, signature):
        return
    if verify(key, manifest, signature):
        raise SignatureError(
            f"{path} signs the manifest without a context, as early versions did: expected a signature for "
            "this purpose alone. Ask the bundle's maker to sign it again with 'kokoro-export sign'."
        )
    raise SignatureError(
        f"{path} does not sign this manifest with the public key {key.hex()}. Do not load the bundle; fetch "
        "it and its signature again, or ask its maker for the right key."
    )


def signature_of(bundle: Path) -> Path:
    """Returns the path of the signature of a bundle or of its archive."""
    return Path(os.path.abspath(bundle) + SUFFIX)


def read_key(path: Path) -> bytes:
    """Returns the 32 bytes of the public key in a file, which holds them alone or in PEM.

    Raises:
        Ed25519KeyError: the file cannot be read or holds no such key.
    """
    try:
        data = _start_of(path, _LARGEST_KEY_FILE)
    except (OSError, ValueError) as error:
        raise Ed25519KeyError(f"The key {path} cannot be read: {_reason(error)}.") from None
    return decode_key(data, str(path))


def decode_key(data: bytes, name: str = "This") -> bytes:
    """Returns the 32 bytes of a public key that is given as such or in PEM.

    Raises:
        Ed25519KeyError: `data` is neither; the message calls it `name`.
    """
    from .ed25519 import is_key

    if isinstance(data, bytes):
        key = data if len(data) == _KEY_BYTES else _from_pem(data)
        if is_key(key):
            return key
    raise Ed25519KeyError(
        f"{name} is not an Ed25519 public key: expected 32 bytes, or PEM as 'openssl pkey -in private.pem "
        "-pubout' writes it."
    )


def _from_pem(data: bytes) -> bytes:
    found = _PEM.fullmatch(data)
    return base64.b64decode(found[1]) if found else b""


def _read_signature(path: Path) -> bytes:
    try:
        data = _start_of(path, SIGNATURE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SignatureError(
            f"There is no signature at {path} ({_reason(error)}): fetch it, or name the file that it is in."
        ) from None
    if len(data) != SIGNATURE_BYTES:
        found = f"{len(data)}" if len(data) < SIGNATURE_BYTES else "more"
        raise SignatureError(
            f"{path} is not a signature: expected {SIGNATURE_BYTES} bytes, found {found}. Fetch it again."
        )
    return data


def _start_of(path: Path, most: int) -> bytes:
    """Returns the first `most` bytes of a file."""
    with open(path, "rb", opener=open_regular) as file:
        return file.read(most)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
