"""A bundle as one file: one bundle, one archive, and whatever else an archive could hold is refused."""

from __future__ import annotations

import hashlib
import io
import os
import random
import shutil
import tarfile
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from exporter.bundle.pack import pack_bundle
from exporter.bundle.sign import sign_bundle
from exporter.bundle.write import BundleContents, write_bundle
from exporter.cli.main import app
from exporter.compiler.library import Weight
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.errors import (
    ArchiveError,
    BundleError,
    DamagedFileError,
    ManifestDigestError,
)
from runtime_min.format import compression
from runtime_min.format.archive import END, compressed_path, header, padding, verify_archive
from runtime_min.format.compression import WIDTHS, compressed, expanded
from runtime_min.format.manifest import MANIFEST_NAME
from runtime_min.format.origin import origin_checks, read_key
from runtime_min.format.verify import read_manifest, verify_files
from tests.exporter.bundle.test_sign import make_key
from tests.support.files import bytes_of
from tests.support.fuzzing.manifest_changes import bounded


@pytest.fixture(scope="module")
def packed(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("pack") / "packed.tar"
    pack_bundle(sound, path)
    return path.read_bytes()


@pytest.fixture
def archive(packed: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "bundle.tar"
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize("kind", ["compressed", "plain"])
def test_what_is_packed_is_unpacked(sound: Path, archive: Path, tmp_path: Path, kind: str) -> None:
    if kind == "plain":
        archive.write_bytes(plain(sound))
    unpack_archive(archive, tmp_path / "new" / "bundle")
    assert verify_archive(archive) == read_manifest(sound)
    assert bytes_of(tmp_path / "new" / "bundle") == bytes_of(sound)
    verify_files(tmp_path / "new" / "bundle", read_manifest(sound))
    assert os.listdir(tmp_path / "new") == ["bundle"]


def plain(bundle: Path, change: Callable[[str, bytes], tuple[str, bytes]] = lambda *file: file) -> bytes:
    """Returns an archive as it was before files were compressed, of files that `change` returns."""
    paths = [MANIFEST_NAME, *(entry.path for entry in read_manifest(bundle).files)]
    files = (change(path, (bundle / path).read_bytes()) for path in paths)
    return b"".join(header(path, len(data)) + data + padding(len(data)) for path, data in files) + END


def one_file(path: str, stored: Callable[[bytes], bytes], width: int = 1) -> Callable[[Path], bytes]:
    """Returns what packs a bundle with other bytes in the place of a compressed file."""

    def change(name: str, data: bytes) -> tuple[str, bytes]:
        return (compressed_path(name, width), stored(data)) if name == path else (name, data)

    return lambda bundle: plain(bundle, change)


def deflated(data: bytes, width: int = 1) -> bytes:
    return b"".join(compressed([data], width))


DEFLATED: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "a bomb": (
        one_file("LICENSE", lambda data: deflated(bytes(4 << 20))),
        "LICENSE: it is compressed and has more than 11358 bytes",
    ),
    "a file that is too short": (one_file("LICENSE", lambda data: deflated(data[:-9])), "ends 9 bytes too"),
    "a stream that is cut off": (one_file("LICENSE", lambda data: deflated(data)[:-1]), "ends 0 bytes too"),
    "a stream and more": (one_file("LICENSE", lambda data: deflated(data) + b"x"), "goes on after its end"),
    "two streams": (
        one_file("LICENSE", lambda data: deflated(data[:99]) + deflated(data[99:])),
        "goes on after its end",
    ),
    "no stream": (one_file("LICENSE", lambda data: data[:-1]), "is not compressed as it should be"),
    "another content": (one_file("LICENSE", lambda data: deflated(bytes(len(data)))), "should have SHA-256"),
    "another width": (one_file("LICENSE", deflated, 2), "should have SHA-256"),
    "a width that nobody writes": (one_file("LICENSE", deflated, 3), "expected the header of LICENSE"),
    "a stream larger than its file": (
        one_file("LICENSE", lambda data: zlib.compress(data, 0)),
        "expected the header of LICENSE",
    ),
    "nothing": (one_file("LICENSE", lambda data: b""), "expected the header of LICENSE"),
    "a compressed manifest": (one_file(MANIFEST_NAME, deflated), "expected manifest.msgpack of at most"),
}


@pytest.mark.parametrize("name", DEFLATED)
def test_hostile_compression_is_refused_by_name(sound: Path, archive: Path, name: str) -> None:
    make, message = DEFLATED[name]
    with bounded():
        refused(archive, make(sound), message)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(st.data(), st.sampled_from(WIDTHS), st.integers(1, 40), st.integers(1, 40))
def test_any_file_is_expanded_to_itself_however_it_is_cut(
    data: st.DataObject, width: int, group: int, piece: int
) -> None:
    content = data.draw(st.binary(max_size=300))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression, "GROUP", 4 * group)
        stored = b"".join(compressed(cut(content, piece), width))
        found = list(expanded(cut(stored, piece), width, len(content)))
    assert b"".join(found) == content
    assert all(len(each) <= 4 * group for each in found)


def test_groups_are_compressed_on_all_cores_and_make_the_same_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    content, seen, meeting = bytes(range(256)) * 96, set(), threading.Barrier(3, timeout=60)
    compress = compression._compressed_group

    def together(group: bytes, width: int) -> tuple[bytes, bytes]:
        seen.add(threading.get_ident())
        meeting.wait()
        return compress(group, width)

    monkeypatch.setattr(compression, "GROUP", len(content) // 24)
    alone = b"".join(compressed([content], 4))
    monkeypatch.setattr(compression, "usable_cores", lambda: range(3))
    monkeypatch.setattr(compression, "_compressed_group", together)
    assert b"".join(compressed([content], 4)) == alone and len(seen) == 3


def test_weights_and_code_are_smaller_in_an_archive(made: BundleContents, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for dtype, share in ((np.float16, 0.9), (np.float32, 0.95)):
        weights = random.normal(0, 0.05, 100_000).astype(dtype)
        bundle = write_bundle(
            tmp_path / dtype.__name__, replace(made, tensors=(*made.tensors, Weight("w", weights)))
        )
        archive = tmp_path / f"{dtype.__name__}.tar"
        pack_bundle(bundle, archive)
        with tarfile.open(archive) as file:
            sizes = {member.name: member.size for member in file.getmembers()}
        width = weights.itemsize
        assert sizes[f"parameters.bin.z{width}"] < share * (bundle / "parameters.bin").stat().st_size
        assert sizes["runtime_min.pyz.z1"] < 0.4 * (bundle / "runtime_min.pyz").stat().st_size
        # What would not be smaller is stored as it is.
        assert "voices/af_heart.bin" in sizes


def test_one_bundle_has_one_archive(sound: Path, packed: bytes, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(sound, tmp_path / "elsewhere"))
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    pack_bundle(copy, tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == packed


def test_a_bundle_that_is_not_sound_is_not_packed(sound: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(sound, tmp_path / "copy"))
    (copy / "NOTICE").write_bytes(bytes((copy / "NOTICE").stat().st_size))
    with pytest.raises(DamagedFileError, match="NOTICE"):
        pack_bundle(copy, tmp_path / "x.tar")
    assert sorted(os.listdir(tmp_path)) == ["copy"]


def test_what_the_manifest_does_not_list_is_not_packed(sound: Path, packed: bytes, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(sound, tmp_path / "copy"))
    (copy / "extra").write_bytes(b"")
    pack_bundle(copy, tmp_path / "x.tar")
    assert (tmp_path / "x.tar").read_bytes() == packed


def refused(archive: Path, data: bytes, match: str | None = None) -> None:
    """The archive is refused, an earlier bundle stays, and nothing is left behind."""
    place = archive.parent / "place"
    earlier = place / "bundle"
    if not earlier.exists():
        unpack_archive(archive, earlier)
    before = bytes_of(earlier)
    hostile = archive.with_name("hostile.tar")
    hostile.write_bytes(data)
    with pytest.raises(BundleError, match=match):
        verify_archive(hostile)
    for destination in (earlier, place / "new"):
        with pytest.raises(BundleError, match=match):
            unpack_archive(hostile, destination, force=True)
    assert bytes_of(earlier) == before
    assert os.listdir(place) == ["bundle"]


def test_every_truncation_is_refused(archive: Path, packed: bytes) -> None:
    choose = random.Random(1)
    ends = {0, 1, 511, 512, 513, len(packed) - 1, len(packed) - 512, len(packed) - 1024}
    for end in ends | {choose.randrange(len(packed)) for _ in range(30)}:
        refused(archive, packed[:end])


def test_a_changed_byte_is_refused_or_changes_no_content(sound: Path, archive: Path, packed: bytes) -> None:
    with tarfile.open(archive) as file:
        manifest = file.extractfile("manifest.msgpack")
        assert manifest is not None
        # A changed manifest may describe another sound bundle; only a pin tells it from the first one.
        pinned = origin_checks(archive, sha256=hashlib.sha256(manifest.read()).hexdigest())
    choose, unpacked, harmless = random.Random(2), archive.with_name("unpacked"), 0
    for _ in range(100):
        data = bytearray(packed)
        data[choose.randrange(len(packed))] ^= choose.randrange(1, 256)
        archive.write_bytes(data)
        try:
            unpack_archive(archive, unpacked, pinned)
        except BundleError:
            with pytest.raises(BundleError):
                verify_archive(archive, pinned)
            assert not unpacked.exists()
        else:
            # The last byte of a compressed stream has bits without meaning.
            assert bytes_of(unpacked) == bytes_of(sound)
            shutil.rmtree(unpacked)
            harmless += 1
    assert harmless < 5


def notice(kind: int = tarfile.USTAR_FORMAT, **changes: object) -> Callable[[bytes], bytes]:
    """Returns what writes the same archive with other attributes of the file NOTICE, as tarfile writes it."""

    def rewrite(packed: bytes) -> bytes:
        output = io.BytesIO()
        with (
            tarfile.open(fileobj=io.BytesIO(packed)) as source,
            tarfile.open(fileobj=output, mode="w", format=kind) as target,
        ):
            for member in source.getmembers():
                content = source.extractfile(member)
                for name, value in changes.items() if member.name == "NOTICE.z1" else ():
                    setattr(member, name, value)
                target.addfile(member, content if member.isreg() else None)
        # tarfile pads to its own record size.
        data = output.getvalue().rstrip(b"\0")
        return data + bytes(-len(data) % 512) + bytes(1024)

    return rewrite


def in_another_order(packed: bytes) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(packed)) as source, tarfile.open(fileobj=output, mode="w") as target:
        members = source.getmembers()
        for member in (members[0], *reversed(members[1:])):
            target.addfile(member, source.extractfile(member))
    return output.getvalue()


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "path that escapes": notice(name="../../NOTICE.z1"),
    "absolute path": notice(name="/NOTICE.z1"),
    "symbolic link": notice(type=tarfile.SYMTYPE, linkname="/etc/passwd", size=0),
    "hard link": notice(type=tarfile.LNKTYPE, linkname="LICENSE", size=0),
    "device": notice(type=tarfile.CHRTYPE, devmajor=1, devminor=3, size=0),
    "pipe": notice(type=tarfile.FIFOTYPE, size=0),
    "directory": notice(type=tarfile.DIRTYPE, size=0),
    "set-user-id": notice(mode=0o4755),
    "owner": notice(uid=1000, uname="me"),
    "date": notice(mtime=1_700_000_000),
    "extended header": notice(pax_headers={"path": "../x"}, kind=tarfile.PAX_FORMAT),
    "gigabytes in a header": lambda packed: packed[:124] + b"77777777777\0" + packed[136:],
    "size in another base": lambda packed: packed[:124] + b"\x80" + bytes(10) + b"\xff" + packed[136:],
    "another container": lambda packed: b"PK\x03\x04" + bytes(2048),
    "zeros": lambda packed: bytes(10_240),
    "another order": in_another_order,
}


def test_anything_after_the_end_is_refused(archive: Path, packed: bytes) -> None:
    for rest in (b"\0", bytes(512), bytes(9216), b"x", packed):
        refused(archive, packed + rest, "expected 1024 zeros and its end")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(archive: Path, packed: bytes, name: str) -> None:
    refused(archive, HOSTILE[name](packed))


@pytest.mark.parametrize("kind", ["nothing", "directory", "pipe"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / kind
    if kind == "directory":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    with pytest.raises(ArchiveError, match=r"cannot be read: .*(regular file|No such file)"):
        unpack_archive(place, tmp_path / "bundle")


def test_a_pin_and_a_signature_are_checked_before_anything_is_written(
    sound: Path, archive: Path, tmp_path: Path
) -> None:
    private, public = make_key(tmp_path, "maker")
    signature = tmp_path / "bundle.tar.sig"
    sign_bundle(sound, private, signature)
    key = read_key(public)
    unpack_archive(archive, tmp_path / "bundle", origin_checks(archive, key=key))
    with pytest.raises(ManifestDigestError):
        unpack_archive(archive, tmp_path / "another", origin_checks(archive, sha256="0" * 64, key=key))
    assert not (tmp_path / "another").exists()


def test_the_commands_pack_and_unpack(sound: Path, packed: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "bundle.tar"
    run = CliRunner().invoke
    assert run(app, ["pack", str(sound), "-o", str(archive)]).stdout == f"{archive}\n"
    assert archive.read_bytes() == packed
    assert run(app, ["unpack", str(archive), "-o", str(tmp_path / "bundle")]).exit_code == 0
    assert bytes_of(tmp_path / "bundle") == bytes_of(sound)
    archive.write_bytes(packed[:-1])
    done = run(app, ["unpack", str(archive), "-o", str(tmp_path / "bundle")])
    assert done.exit_code == 6 and "add --force" in done.stderr
    done = run(app, ["unpack", str(archive), "-o", str(tmp_path / "bundle"), "--force"])
    assert done.exit_code == 4 and "is not a sound archive" in done.stderr
