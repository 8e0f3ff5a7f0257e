"""A bundle's directory is checked to the last bit before anything in it is loaded."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime_min import Bundle
from runtime_min.errors import (
    BundleError,
    DamagedFileError,
    LinkedFileError,
    ManifestDigestError,
    MissingFileError,
    NotRegularFileError,
    UnexpectedFileError,
)
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of, read_manifest, verify_files


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bundle"))


def verify(bundle: Path) -> None:
    verify_files(bundle, read_manifest(bundle))


def files_of(bundle: Path) -> list[str]:
    return [entry.path for entry in read_manifest(bundle).files]


def test_a_sound_bundle_passes_wherever_it_lies(bundle: Path, tmp_path: Path) -> None:
    verify(bundle)
    verify(bundle.rename(tmp_path / "another name"))


def test_every_file_is_missed(bundle: Path) -> None:
    for path in files_of(bundle):
        aside = bundle.parent / "aside"
        (bundle / path).rename(aside)
        with pytest.raises(MissingFileError, match=path):
            verify(bundle)
        aside.rename(bundle / path)


def test_every_file_is_compared_with_its_digest(bundle: Path) -> None:
    for path in files_of(bundle):
        data = (bundle / path).read_bytes()
        (bundle / path).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(DamagedFileError, match=f"{path} should have SHA-256"):
            verify(bundle)
        (bundle / path).write_bytes(data)


def test_a_file_of_another_size_is_named_with_both_sizes(bundle: Path) -> None:
    path = bundle / "parameters.bin"
    size = path.stat().st_size
    for wrong in (size - 1, size + 1, 0):
        path.write_bytes(bytes(wrong))
        with pytest.raises(DamagedFileError, match=f"should have {size} bytes and has {wrong}"):
            verify(bundle)


@pytest.mark.parametrize("path", ["extra", "lib/extra.so", "new/deep/extra", "lib/empty/"])
def test_an_extra_file_or_directory_is_refused(bundle: Path, path: str) -> None:
    (bundle / path).parent.mkdir(parents=True, exist_ok=True)
    (bundle / path).mkdir() if path.endswith("/") else (bundle / path).write_bytes(b"")
    with pytest.raises(UnexpectedFileError, match=f"holds '{path.partition('deep')[0]}', which"):
        verify(bundle)


@pytest.mark.parametrize("path", ["LICENSE", "lib/extra", "parameters.bin"])
def test_links_are_refused_wherever_they_lead(bundle: Path, path: str) -> None:
    original = bundle.parent / "original"
    if (bundle / path).exists():
        (bundle / path).rename(original)
    else:
        original.write_bytes(b"")
    (bundle / path).symlink_to(original)
    with pytest.raises(LinkedFileError, match="is a symbolic link; expected a regular file"):
        verify(bundle)


@pytest.mark.parametrize("path", ["LICENSE", "parameters.bin", "manifest.msgpack"])
def test_a_file_with_another_name_elsewhere_is_refused(bundle: Path, path: str) -> None:
    (bundle.parent / "other name").hardlink_to(bundle / path)
    with pytest.raises(LinkedFileError, match=f"{path} has 2 names .*copy the bundle"):
        verify(bundle)
    (bundle.parent / "other name").unlink()
    verify(bundle)


def test_a_link_to_the_whole_bundle_is_followed_once(bundle: Path, sound: Path, tmp_path: Path) -> None:
    link = tmp_path / "current"
    link.symlink_to(bundle, target_is_directory=True)
    files = BundleFiles(link)
    link.unlink()
    link.symlink_to(tmp_path, target_is_directory=True)
    manifest = manifest_of(files)
    files.verify()
    assert manifest == read_manifest(sound)
    files.close()


def test_a_linked_directory_is_refused(bundle: Path) -> None:
    (bundle / "voices").rename(bundle.parent / "voices")
    (bundle / "voices").symlink_to(bundle.parent / "voices")
    with pytest.raises(UnexpectedFileError, match="voices is a symbolic link"):
        verify(bundle)


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "original")


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


@pytest.mark.parametrize("make", [os.mkfifo, bound_socket], ids=["pipe", "socket"])
def test_pipes_and_sockets_are_refused_without_waiting_for_them(
    bundle: Path, make: Callable[[Path], None]
) -> None:
    make(bundle / "odd")
    with pytest.raises(UnexpectedFileError, match="odd is a pipe, socket, device or directory"):
        verify(bundle)


@pytest.mark.parametrize(
    ("make", "error", "kind"),
    [
        (link, LinkedFileError, "symbolic link"),
        (os.mkfifo, NotRegularFileError, "pipe"),
        (bound_socket, NotRegularFileError, "socket"),
        (os.mkdir, NotRegularFileError, ""),
    ],
)
def test_a_manifest_that_is_no_regular_file_is_refused(
    bundle: Path, make: Callable[[Path], None], error: type[BundleError], kind: str
) -> None:
    manifest = bundle / "manifest.msgpack"
    manifest.rename(bundle.parent / "original")
    make(manifest)
    with pytest.raises(error, match=rf"manifest\.msgpack is a {kind}"):
        read_manifest(bundle)


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(
            MissingFileError, match=r"is not a bundle: expected a directory with manifest\.msgpack"
        ):
            read_manifest(path)
    with pytest.raises(MissingFileError, match="is not a bundle"):
        read_manifest(tmp_path)


def test_the_pinned_digest_decides(bundle: Path) -> None:
    digest = hashlib.sha256((bundle / "manifest.msgpack").read_bytes()).hexdigest()
    assert read_manifest(bundle, sha256=digest) == read_manifest(bundle, sha256=digest.upper())
    with pytest.raises(ManifestDigestError, match=f"{digest}, pinned is {'0' * 64}"):
        read_manifest(bundle, sha256="0" * 64)


def test_loading_verifies_before_it_loads(bundle: Path) -> None:
    (bundle / "lib" / "extra.so").write_bytes(b"")
    with pytest.raises(UnexpectedFileError):
        Bundle.load(bundle)
    (bundle / "lib" / "extra.so").unlink()
    (bundle / "parameters.bin").write_bytes(bytes((bundle / "parameters.bin").stat().st_size))
    with pytest.raises(DamagedFileError):
        Bundle.load(bundle)
