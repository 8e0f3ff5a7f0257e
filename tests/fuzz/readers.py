"""The readers that `make fuzz` feeds: each refuses bytes with a typed error, or keeps its promise on them."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from exporter.bundle.pack import pack_bundle
from exporter.bundle.write import PARAMETER_FILE as PARAMETERS
from exporter.bundle.write import encode_manifest
from exporter.text.language_files import language_file
from kokoro_books import read_book
from runtime_min import Segment
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.errors import BundleError, Ed25519KeyError, InputError, TextEncodingError
from runtime_min.format import ed25519
from runtime_min.format.archive import verify_archive
from runtime_min.format.bundle_files import BundleFiles, part_names
from runtime_min.format.msgpack import unpack
from runtime_min.format.origin import decode_key
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import manifest_of
from runtime_min.text.arriving import ArrivingText, Run
from runtime_min.text.pauses import read_pauses
from runtime_min.text.rules import Rules
from runtime_min.text.ssml import read_ssml
from tests.support import books
from tests.support.english_text import assert_spoken, rows, whole_english
from tests.support.files import bytes_of
from tests.support.fuzzing.bundles import MANIFEST, Files, consistent, damaged_bytes, damaged_document
from tests.support.fuzzing.segmented import DICTIONARIES
from tests.support.fuzzing.texts import UNITS
from tests.support.languages import tiny_language
from tests.support.paths import ROOT

GOLDEN = ROOT / "tests/golden/format-1"
REFUSED = (BundleError, InputError)
MOST_TEXT = 4_000
"""Bytes: words that no lexicon has take a millisecond each."""
_DICTIONARY_NUMBERS = (b"\0", b"\1")
RULED = "¿Qué? L'amico 21 3/2 -5 % 1,05 km, dr. K; भारत 12:30 R$ 5,50 XXI guerra cé. Çé d’água “não”"


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


def read_parts(data: bytes) -> None:
    """Takes the lengths of eight parts, two bytes each, and places to change: none gives another content."""
    numbers = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
    content = (GOLDEN / "rounded" / PARAMETERS).read_bytes()
    changed, rest = bytearray(content), 0
    for place in numbers[8:]:
        changed[place % len(content)] ^= 1
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        bundle = Path(folder, "bundle")
        shutil.copytree(GOLDEN / "rounded", bundle, ignore=shutil.ignore_patterns(PARAMETERS))
        for name, length in zip(part_names(PARAMETERS), numbers[:8], strict=False):
            (bundle / name).write_bytes(changed[rest : rest + length])
            rest += length
        with BundleFiles(bundle) as files:
            manifest_of(files)
            files.verify()
            assert files.read(PARAMETERS) == bytes(files.map(PARAMETERS)) == content == changed


def parts() -> list[bytes]:
    """The file as one part, as two and as many, with and without an empty one."""
    divided = ([460], [400, 60], [1, 459, 0], [0, 460], [60] * 7 + [40])
    return [b"".join(length.to_bytes(2, "big") for length in each) for each in divided]


def read_epub(data: bytes) -> None:
    """Takes an EPUB; its chapters have titles and text in lines, and a second reading gives the same."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder, "book.epub")
        path.write_bytes(data)
        book = read_book(path)
        assert book == read_book(path)
    for chapter in book.chapters:
        assert chapter.title and chapter.paragraphs
        assert all(each == " ".join(each.split()) != "" for each in chapter.paragraphs)


def epubs() -> list[bytes]:
    return [books.packed(files) for files in (books.english_files(), books.spanish_files())]


def mutate_epub(random: Random, data: bytes) -> bytes:
    """Changes a file of the archive, and packs it again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name != "mimetype"}
    name = random.choice(list(files))
    files[name] = damaged_bytes(random, files[name], files[random.choice(list(files))])
    return books.packed(files)


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


def read_arriving(data: bytes) -> None:
    """Takes a length and a text; in pieces of this length the text gives the same runs as at once."""
    try:
        text = data[1:MOST_TEXT].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as failure:
        raise TextEncodingError("the input", failure.start) from None
    length = 1 + next(iter(data), 0)
    pieces = [text[start : start + length] for start in range(0, len(text), length)]
    assert _runs(pieces) == (whole := _runs([text]))
    assert "".join(run.text for run in whole) == text
    assert [run.is_last for run in whole] == [False] * (len(whole) - 1) + [True]


def _runs(pieces: list[str]) -> list[Run]:
    text = ArrivingText()
    return [*(run for piece in pieces for run in text.push(piece)), *text.end()]


def read_language(data: bytes) -> None:
    """Takes rules, or the number of a dictionary and changes of it: a text is read the same twice."""
    if data[:1] not in _DICTIONARY_NUMBERS:
        found: list[Any] = [[(word.text, word.phonemes) for word in Rules(data)(RULED)] for _ in range(2)]
    else:
        dictionary = DICTIONARIES[data[0]]
        changed = dictionary.changed(data[1:])
        found = [list(dictionary.reader(changed).words(dictionary.text)) for _ in range(2)]
    assert found[0] == found[1]


def languages() -> list[bytes]:
    """Rules that are small, and a change of each number in the dictionaries' headers."""
    changes = (
        number + place.to_bytes(4, "big") + b"\2"
        for number, dictionary in zip(_DICTIONARY_NUMBERS, DICTIONARIES, strict=True)
        for place in range(0, dictionary.header.size, 4)
    )
    return [tiny_language(), *map(language_file, ("es", "hi")), *_DICTIONARY_NUMBERS, *changes]


def mutate_language(random: Random, data: bytes) -> bytes:
    if data[:1] not in _DICTIONARY_NUMBERS:
        return mutate_manifest(random, data)
    places = (random.choice((random.randrange(64), random.randrange(1 << 24))) for _ in range(4))
    return data + b"".join(place.to_bytes(4, "big") + random.randbytes(1) for place in places)


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
    "epub": Reader(read_epub, epubs, mutate_epub),
    "parts": Reader(read_parts, parts, mutate_bytes),
    "signature": Reader(read_signature, signatures, mutate_signature),
    "key": Reader(read_key, keys, mutate_bytes),
    "text": Reader(read_text, texts, mutate_text),
    "arriving": Reader(read_arriving, lambda: [b"\5" + text for text in texts()[:200]], mutate_text),
    "language": Reader(read_language, languages, mutate_language),
}
