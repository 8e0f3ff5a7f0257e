"""Only what the maker signed is loaded: another key, manifest or signature is refused before the parser."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given
from hypothesis import strategies as st

from runtime_min import Bundle
from runtime_min.errors import (
    DamagedFileError,
    Ed25519KeyError,
    MachineError,
    ManifestDigestError,
    SignatureError,
    UnreadableFileError,
)
from runtime_min.format.origin import CONTEXT, decode_key, read_key, signature_of
from runtime_min.format.verify import sha256_of
from runtime_min.speak_arguments import run as main
from tests.support.paths import ROOT
from tests.support.tiny.runtime_alone import environment

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = PRIVATE.public_key().public_bytes_raw()
BODY = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + KEY)
FIRST, LAST = b"-----BEGIN PUBLIC KEY-----", b"-----END PUBLIC KEY-----"
PEM = b"\n".join((FIRST, BODY, LAST, b""))


@pytest.fixture
def signed(sound: Path, tmp_path: Path) -> Path:
    bundle = Path(shutil.copytree(sound, tmp_path / "bundle"))
    sign(bundle, CONTEXT)
    return bundle


def sign(bundle: Path, context: bytes) -> None:
    signature_of(bundle).write_bytes(PRIVATE.sign(context + (bundle / "manifest.msgpack").read_bytes()))


def load(bundle: Path, key: bytes = KEY, signature: Path | None = None) -> None:
    """Gets at least as far as the native code, which a bundle of dummies lacks."""
    with suppress(MachineError):
        Bundle.load(bundle, key=key, signature=signature).close()


@pytest.mark.parametrize("key", [KEY, PEM, PEM.replace(b"\n", b"\r\n"), PEM.rstrip(), b"\n " + PEM])
def test_a_signed_bundle_loads_with_its_makers_key(signed: Path, key: bytes) -> None:
    load(signed, key)
    moved = signed.with_name("elsewhere")
    signature_of(signed).rename(moved)
    load(signed, key, moved)


def test_another_key_or_manifest_is_refused_before_the_manifest_is_parsed(signed: Path) -> None:
    with pytest.raises(SignatureError, match=f"does not sign this manifest .* {STRANGER.hex()}"):
        load(signed, STRANGER)
    (signed / "manifest.msgpack").write_bytes(b"\xc1")
    with pytest.raises(SignatureError, match="does not sign"):
        load(signed)
    with pytest.raises(ManifestDigestError):
        Bundle.load(signed, key=KEY, manifest_sha256="0" * 64)


STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()


def test_a_signature_is_no_substitute_for_the_digests(signed: Path) -> None:
    notice = signed / "NOTICE"
    notice.write_bytes(bytes(notice.stat().st_size))
    with pytest.raises(DamagedFileError, match="NOTICE"):
        load(signed)


def test_a_signature_for_another_purpose_is_refused_and_an_old_one_by_name(signed: Path) -> None:
    sign(signed, b"")
    with pytest.raises(SignatureError, match=r"without a context, .* sign it again"):
        load(signed)
    sign(signed, b"another context\n")
    with pytest.raises(SignatureError, match="does not sign"):
        load(signed)


def changed(position: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *((changed(position), "does not sign") for position in (0, 31, 32, 63)),
        *((lambda data, size=size: bytes(size), "is not a signature") for size in (0, 63, 65, 1 << 20)),
    ],
)
def test_what_is_not_the_signature_is_refused(
    signed: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    path = signature_of(signed)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(SignatureError, match=message):
        load(signed)


def make(kind: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)


@pytest.mark.parametrize("kind", ["absent", "pipe", "directory", "device", "loop"])
def test_what_is_no_file_is_neither_read_nor_waited_for(signed: Path, kind: str) -> None:
    make(kind, signature_of(signed))
    with pytest.raises(SignatureError, match="There is no signature at"):
        load(signed)
    make(kind, signed.with_name("key"))
    with pytest.raises(Ed25519KeyError, match="cannot be read"):
        read_key(signed.with_name("key"))
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        sha256_of(signed.with_name("key"))


def test_a_path_that_no_file_can_have_is_a_typed_error(signed: Path) -> None:
    with pytest.raises(SignatureError, match="There is no signature"):
        load(signed, KEY, Path("a\0b"))
    with pytest.raises(Ed25519KeyError):
        read_key(Path("a\0b"))


def test_a_signature_without_a_key_is_refused_because_nothing_would_be_checked(signed: Path) -> None:
    with pytest.raises(Ed25519KeyError, match="cannot be checked without its maker's public key"):
        Bundle.load(signed, signature=signature_of(signed))


WRONG_KEYS = [
    b"",
    bytes(32),
    bytes([1]) + bytes(31),
    KEY + b"\n",
    KEY.hex().encode(),
    BODY,
    PEM.replace(b"PUBLIC", b"PRIVATE"),
    PEM.replace(b"MCow", b"MCox"),
    PEM + PEM,
    PEM.replace(b"\n-----END", b"\n\n\nAAAA\n-----END"),
    # The same 32 bytes in another base64: its last digit has two spare bits.
    PEM.replace(BODY, BODY[:-2] + bytes([BODY[-2] + 1]) + b"="),
    PEM.decode(),
    Path("public.pem"),
]


@pytest.mark.parametrize("key", WRONG_KEYS, ids=repr)
def test_what_is_no_key_is_refused(signed: Path, key: bytes) -> None:
    with pytest.raises(Ed25519KeyError, match="is not an Ed25519 public key: expected 32 bytes, or PEM"):
        Bundle.load(signed, key=key)


@given(st.binary(max_size=100) | st.binary(max_size=60).map(lambda data: PEM[:40] + data + PEM[-30:]))
@example(PEM)
def test_a_key_is_decoded_to_the_32_bytes_that_it_encodes_or_refused(data: bytes) -> None:
    try:
        key = decode_key(data)
    except Ed25519KeyError:
        return
    assert key == data or base64.b64encode(key)[-40:] in data


def test_the_command_takes_the_key_from_a_file(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("public.pem", PEM), ("raw", KEY), ("stranger", STRANGER), ("private", b"x")):
        signed.with_name(name).write_bytes(content)

    def run(*options: str | Path) -> tuple[int, str]:
        code = main([str(option) for option in (signed, "--list-voices", *options)])
        return code, capsys.readouterr().err

    for name in ("public.pem", "raw"):
        assert run("--key", signed.with_name(name))[0] in (0, MachineError.exit_code)
    code, said = run("--key", signed.with_name("stranger"))
    assert code == 4 and "does not sign this manifest" in said
    code, said = run("--key", signed.with_name("private"))
    assert code == 3 and "private is not an Ed25519 public key" in said


def test_only_a_key_imports_the_verifier(signed: Path) -> None:
    script = f"""
import sys
from runtime_min import Bundle
for options in {{}}, {{"key": {KEY!r}}}:
    try:
        Bundle.load({str(signed)!r}, **options)
    except Exception:
        print("runtime_min.format.ed25519" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_nothing_of_a_damaged_bundle_runs(signed: Path) -> None:
    marker = signed.with_name("ran")
    hostile = f"open({str(marker)!r}, 'w')\n"
    for name in ("runtime_min.pyz", "sitecustomize.py", "numpy.py"):
        (signed / name).write_text(hostile)
    command = [sys.executable, "-m", "runtime_min", str(signed), "--list-voices"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=ROOT)
    assert done.returncode == 4, done.stderr
    assert not marker.exists()
    # The copy within the bundle is not the runtime that checks.
    subprocess.run([sys.executable, str(signed / "runtime_min.pyz")], check=True)
    assert marker.exists()
