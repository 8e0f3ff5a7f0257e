"""The readers that `make fuzz` feeds: each refuses bytes with a typed error, or keeps its promise on them."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from exporter.bundle.pack import pack_bundle
from exporter.bundle.write import encode_manifest
from runtime_min import Segment
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.errors import BundleError, Ed25519KeyError, InputError, TextEncodingError
from runtime_min.format import ed25519
from runtime_min.format.archive import verify_archive
from runtime_min.format.msgpack import unpack
from runtime_min.format.origin import decode_key
from runtime_min.format.parse import parse_manifest
from runtime_min.text.pauses import read_pauses
from runtime_min.text.ssml import read_ssml
from tests.support.english_text import assert_spoken, rows, whole_english
from tests.support.files import bytes_of
from tests.support.fuzzing.bundles import MANIFEST, Files, consistent, damaged_bytes, damaged_document
from tests.support.fuzzing.texts import UNITS
from tests.support.paths import ROOT

GOLDEN = ROOT / "tests/golden/format-1"
REFUSED = (BundleError, InputError)
MOST_TEXT = 4_000
"""Bytes: words that no lexicon has take a millisecond each."""


class Reader(NamedTuple):
    """A reader of hostile bytes."""

    read: Callable[[bytes], None]
    """Raises one of `REFUSED`, or nothing. Any other error is a defect."""
    seeds: Callable[[], list[bytes]]
    """Sound input to begin with."""
    mutate: Callable[[Random, bytes], bytes]
    """Changes input more deeply than a flipped bit can."""


def read_msgpack(data: bytes) -> None:
    assert msgpack.packb(unpack(data)) == data


def read_manifest(data: bytes) -> None:
    assert msgpack.unpackb(encode_manifest(parse_manifest(data))) == msgpack.unpackb(data)


def read_archive(data: bytes) -> None:
    """A bundle has one archive, which holds what was unpacked, however that was compressed."""
    # Nothing is to be flushed to a disk ten times a second.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        archive, bundle, again = (Path(place, name) for name in ("archive.tar", "bundle", "again.tar"))
        archive.write_bytes(data)
        unpack_archive(archive, bundle)
        pack_bundle(bundle, again)
        assert verify_archive(again) == verify_archive(archive)


def read_signature(data: bytes) -> None:
    """Takes a key, a signature and a message, one after the other; openssl has the same opinion."""
    key, signature, message = data[:32], data[32:96], data[96:]
    if ed25519.is_key(key):
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except InvalidSignature:
            assert not ed25519.verify(key, message, signature)
        else:
            assert ed25519.verify(key, message, signature)
    else:
        assert not ed25519.verify(key, message, signature)
        raise Ed25519KeyError


def read_key(data: bytes) -> None:
    key = decode_key(data)
    assert ed25519.is_key(key)
    assert key == data or pem_of(key).split() == data.split()


def read_text(data: bytes) -> None:
    """Takes SSML or text with pauses; its words are those of the text, and are spoken or reported."""
    try:
        text = data[:MOST_TEXT].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as failure:
        raise TextEncodingError("the input", failure.start) from None
    segments = read_ssml(text) if text.startswith("<speak") else [Segment(text)]
    for segment in segments:
        for each in read_pauses(segment):
            assert_spoken(str(each.content), whole_english())


def texts() -> list[bytes]:
    """Repetitions that might hurt, SSML, and what misaki was asked."""
    found = ["".join(UNITS[first : first + 9]) for first in range(0, len(UNITS), 9)]
    found += ["<speak>a<break time='1s'/><sub alias='b'>c</sub></speak>", "One. [pause:0.5s] [two](/tˈu/)"]
    found += [row["text"] for name in ("misakid_us", "spacemit") for row in rows(name)]
    return [text.encode("utf-8", "surrogatepass") for text in found]


def mutate_text(random: Random, data: bytes) -> bytes:
    """Puts something hostile, or a part of the text again, anywhere."""
    text = data.decode("utf-8", "ignore")
    start, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
    new = random.choice((text[start:end], random.choice(UNITS), chr(random.randrange(0x3000))))
    text = text[:start] + new * random.choice((1, 1, 2, 9)) + text[random.choice((start, end)) :]
    return text.encode("utf-8", "surrogatepass")


def pem_of(key: bytes) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return Ed25519PublicKey.from_public_bytes(key).public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )


def golden_manifests() -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob(f"*/{MANIFEST}"))]


def golden_archives() -> list[bytes]:
    """Returns archives without compression, which earlier versions wrote, and one with it."""
    with tempfile.TemporaryDirectory() as place:
        archive = Path(place, "archive.tar")
        pack_bundle(GOLDEN / "rounded", archive)
        packed = archive.read_bytes()
    return [*(archive_of(bytes_of(path)) for path in sorted(GOLDEN.iterdir())), packed]


def archive_of(files: Files) -> bytes:
    """The archive of the files that a manifest lists, as the format describes it."""
    output = io.BytesIO()
    names = [MANIFEST, *(entry["path"] for entry in msgpack.unpackb(files[MANIFEST])["files"])]
    for name in names:
        member = tarfile.TarInfo(name)
        member.size = len(files[name])
        output.write(member.tobuf(tarfile.USTAR_FORMAT) + files[name] + bytes(-member.size % 512))
    return output.getvalue() + bytes(1024)


def files_of(archive: bytes) -> Files:
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        return {member.name: members.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def signatures() -> list[bytes]:
    """Three sound ones, and Wycheproof's cases."""
    cases = json.loads((ROOT / "tests/golden/wycheproof/ed25519.json").read_text())["cases"]
    known = [bytes.fromhex(key + signature + message) for _, key, message, signature, _ in cases]
    return [signed(Random(seed)) for seed in range(3)] + known


def signed(random: Random) -> bytes:
    key, message = (
        Ed25519PrivateKey.from_private_bytes(random.randbytes(32)),
        random.randbytes(random.randrange(9)),
    )
    return key.public_key().public_bytes_raw() + key.sign(message) + message


def keys() -> list[bytes]:
    raw = [signed(Random(seed))[:32] for seed in range(3)]
    return raw + [pem_of(key) for key in raw]


def mutate_bytes(random: Random, data: bytes) -> bytes:
    return damaged_bytes(random, data, data)


def mutate_manifest(random: Random, data: bytes) -> bytes:
    changed: bytes = msgpack.packb(damaged_document(random, msgpack.unpackb(data)))
    return changed


def mutate_archive(random: Random, data: bytes) -> bytes:
    """Changes the manifest or a file, and then corrects sizes, digests and headers."""
    files = files_of(data)
    name = random.choice(list(files))
    document = msgpack.unpackb(files[MANIFEST])
    if name == MANIFEST:
        document = damaged_document(random, document)
    else:
        files[name] = damaged_bytes(random, files[name], files[MANIFEST])
    files[MANIFEST] = consistent(files, document)
    return archive_of(files)


def mutate_signature(random: Random, data: bytes) -> bytes:
    """Keeps a sound signature in reach: what is flipped in one is seldom sound again."""
    return signed(random) if random.random() < 0.5 else damaged_bytes(random, signed(random), data)


READERS = {
    "msgpack": Reader(read_msgpack, golden_manifests, mutate_bytes),
    "manifest": Reader(read_manifest, golden_manifests, mutate_manifest),
    "archive": Reader(read_archive, golden_archives, mutate_archive),
    "signature": Reader(read_signature, signatures, mutate_signature),
    "key": Reader(read_key, keys, mutate_bytes),
    "text": Reader(read_text, texts, mutate_text),
}
