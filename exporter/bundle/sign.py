"""Signs bundles with Ed25519. `runtime_min.format.origin` verifies, and describes the signed message."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runtime_min.errors import Ed25519KeyError, OutputError
from runtime_min.format.origin import CONTEXT, SIGNATURE_BYTES
from runtime_min.format.verify import verify_bundle
from runtime_min.output.writer import write_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_LARGEST_KEY = 16 << 10


def sign_bundle(bundle: Path, key: Path, signature: Path) -> None:
    """Verifies every file of a bundle and writes its signature.

    Args:
        bundle: the directory.
        key: a private key in PEM (``openssl genpkey -algorithm ed25519``), not encrypted.
        signature: file to write.

    Raises:
        Ed25519KeyError: the file does not hold such a key.
        BundleError: the bundle is damaged, and nothing is signed.
        OutputError: the signature cannot be written, or `signature` is another kind of file.
    """
    private = _read_private_key(key)
    if signature.is_file() and signature.stat().st_size != SIGNATURE_BYTES:
        raise OutputError(
            f"{signature} exists and is not a signature of {SIGNATURE_BYTES} bytes: choose another path."
        )
    made: list[bytes] = []
    # The signed bytes are the checked ones.
    verify_bundle(bundle, lambda manifest: made.append(private.sign(CONTEXT + manifest)))
    write_file(signature, made[0])


def _read_private_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        with path.open("rb") as file:
            key = load_pem_private_key(file.read(_LARGEST_KEY), None)
    except OSError as error:
        raise Ed25519KeyError(f"The key {path} cannot be read: {error.strerror}.") from None
    except TypeError:
        raise Ed25519KeyError(
            f"The key {path} is encrypted: expected a plain one, as 'openssl pkey -in {path}' writes it."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, Ed25519PrivateKey):
        return key
    raise Ed25519KeyError(
        f"{path} is not an Ed25519 private key in PEM: make one with 'openssl genpkey -algorithm ed25519 "
        "-out private.pem'."
    )
