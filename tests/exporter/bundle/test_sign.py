"""A signature tells who made a bundle; whatever does not fit is refused, and nothing damaged is signed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exporter.bundle.sign import sign_bundle
from exporter.bundle.write import write_bundle
from exporter.cli.main import app
from runtime_min.errors import DamagedFileError, Ed25519KeyError, OutputError, SignatureError
from runtime_min.format.origin import CONTEXT, origin_checks, read_key, signature_of
from runtime_min.format.verify import verify_bundle
from tests.support.tiny.bundle import dummy_contents, with_entries


def make_key(directory: Path, name: str) -> tuple[Path, Path]:
    """A private key and its public half."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private, public = directory / f"{name}.pem", directory / f"{name}.public.pem"
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    public.write_bytes(key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return make_key(tmp_path, "maker")


@pytest.fixture
def signed(tmp_path: Path, keys: tuple[Path, Path]) -> Path:
    bundle = write_bundle(tmp_path / "bundle", dummy_contents(tmp_path))
    sign_bundle(bundle, keys[0], signature_of(bundle))
    return bundle


def verify(bundle: Path, public: Path) -> None:
    verify_bundle(bundle, *origin_checks(bundle, key=read_key(public)))


def test_the_owner_of_the_key_is_recognised(signed: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    verify(signed, keys[1])
    # Wherever the bundle goes, its signature fits.
    copy = Path(shutil.copytree(signed, tmp_path / "copy"))
    verify_bundle(copy, *origin_checks(copy, key=read_key(keys[1]), signature=signature_of(signed)))
    # The bundle itself is unchanged.
    verify_bundle(signed)
    with pytest.raises(SignatureError, match="does not sign this manifest with the public key"):
        verify(signed, make_key(tmp_path, "stranger")[1])
    (tmp_path / "other").mkdir()
    write_bundle(signed, with_entries(dummy_contents(tmp_path / "other"), parity={"run": 2}))
    with pytest.raises(SignatureError):
        verify(signed, keys[1])


def test_a_damaged_bundle_is_neither_verified_nor_signed(signed: Path, keys: tuple[Path, Path]) -> None:
    (signed / "NOTICE").write_bytes(bytes((signed / "NOTICE").stat().st_size))
    with pytest.raises(DamagedFileError, match="NOTICE"):
        verify(signed, keys[1])
    signature_of(signed).unlink()
    with pytest.raises(DamagedFileError):
        sign_bundle(signed, keys[0], signature_of(signed))
    assert not signature_of(signed).exists()


def test_a_place_that_cannot_be_written_is_an_output_error(signed: Path, keys: tuple[Path, Path]) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        sign_bundle(signed, keys[0], signed.parent / "nowhere" / "x.sig")


def test_only_an_earlier_signature_is_overwritten(signed: Path, keys: tuple[Path, Path]) -> None:
    private = keys[0].read_bytes()
    with pytest.raises(OutputError, match="is not a signature"):
        sign_bundle(signed, keys[0], keys[0])
    assert keys[0].read_bytes() == private
    sign_bundle(signed, keys[0], signature_of(signed))


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.mark.parametrize("kind", ["swapped", "absent", "text", "rsa"])
def test_what_is_no_such_key_is_refused(
    signed: Path, keys: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    private, public = reversed(keys) if kind == "swapped" else (tmp_path / "key", tmp_path / "public")
    if kind == "text":
        for path in (private, public):
            path.write_bytes(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    elif kind == "rsa":
        openssl("genpkey", "-algorithm", "rsa", "-out", private)
        openssl("pkey", "-in", private, "-pubout", "-out", public)
    with pytest.raises(Ed25519KeyError):
        sign_bundle(signed, private, tmp_path / "x.sig")
    with pytest.raises(Ed25519KeyError):
        verify(signed, public)
    assert not (tmp_path / "x.sig").exists()


def test_an_encrypted_key_says_what_to_do(signed: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    encrypted = tmp_path / "encrypted.pem"
    openssl("pkey", "-in", keys[0], "-aes256", "-passout", "pass:secret", "-out", encrypted)
    with pytest.raises(Ed25519KeyError, match="is encrypted: expected a plain one, as 'openssl pkey"):
        sign_bundle(signed, encrypted, tmp_path / "x.sig")


def test_the_commands_sign_and_verify_as_openssl_does(tmp_path: Path) -> None:
    keys = tmp_path / "k.pem", tmp_path / "k.public.pem"
    openssl("genpkey", "-algorithm", "ed25519", "-out", keys[0])
    openssl("pkey", "-in", keys[0], "-pubout", "-out", keys[1])
    bundle = write_bundle(tmp_path / "bundle", dummy_contents(tmp_path))

    def run(*arguments: str | Path) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        return result.exit_code, result.stdout + result.stderr

    code, said = run("verify", bundle, "--key", keys[1])
    assert code == 4 and "There is no signature at" in said
    assert run("sign", bundle, "--key", keys[0]) == (0, f"{bundle}.sig\n")
    verifying = "pkeyutl", "-verify", "-pubin", "-inkey", keys[1], "-rawin", "-in"
    message, manifest = tmp_path / "message", (bundle / "manifest.msgpack").read_bytes()
    message.write_bytes(CONTEXT + manifest)
    openssl(*verifying, message, "-sigfile", signature_of(bundle))
    code, said = run("verify", bundle, "--key", keys[1])
    assert code == 0 and f"signed with the key of {keys[1]}" in said
    assert said.splitlines()[-1] == f"SHA-256 of the manifest: {hashlib.sha256(manifest).hexdigest()}"
    openssl("pkeyutl", "-sign", "-inkey", keys[0], "-rawin", "-in", message, "-out", tmp_path / "made")
    assert run("verify", bundle, "--key", keys[1], "--signature", tmp_path / "made")[0] == 0
    for command in (("verify", bundle), ("unpack", bundle, "-o", tmp_path / "unpacked")):
        code, said = run(*command, "--signature", signature_of(bundle))
        assert code == 3 and "give the key, too" in " ".join(said.split())
    code, said = run("verify", bundle, "--key", keys[1], "--sha256", "0" * 64)
    assert code == 4 and "0" * 64 in said
    (bundle / "hello.wav").touch()
    assert run("verify", bundle)[0] == 0
    code, said = run("verify", bundle, "--strict")
    assert code == 4 and "holds 'hello.wav', which its manifest does not list" in " ".join(said.split())
    code, said = run("sign", bundle, "--key", keys[1])
    assert code == 3 and "is not an Ed25519 private key in PEM" in " ".join(said.split())
