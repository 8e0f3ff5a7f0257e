"""A bundle's directory is checked to the last bit before anything in it is loaded."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min import Bundle
from runtime_min.errors import (
    DamagedFileError,
    ManifestDigestError,
    MissingFileError,
    NotRegularFileError,
    UnexpectedFileError,
    UnreadableFileError,
)
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.verify import manifest_of, read_manifest, verify_files
from tests.support.files import fail_with


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


def assert_every_digest_counts(bundle: Path) -> None:
    for path in files_of(bundle):
        data = (bundle / path).read_bytes()
        (bundle / path).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(DamagedFileError, match=f"{path} should have SHA-256"):
            verify(bundle)
        (bundle / path).write_bytes(data)


def test_every_file_is_compared_with_its_digest(bundle: Path) -> None:
    assert_every_digest_counts(bundle)


def test_a_file_of_another_size_is_named_with_both_sizes(bundle: Path) -> None:
    path = bundle / "parameters.bin"
    size = path.stat().st_size
    for wrong in (size - 1, size + 1, 0):
        path.write_bytes(bytes(wrong))
        with pytest.raises(DamagedFileError, match=f"should have {size} bytes and has {wrong}"):
            verify(bundle)


def check_nothing_else(bundle: Path, *ignored: str) -> None:
    with BundleFiles(bundle) as files:
        manifest_of(files)
        files.check_nothing_else(ignored)


@pytest.mark.parametrize(
    "path", ["extra", "lib/extra.so", "new/deep/extra", "lib/empty/", "voices/.DS_Store"]
)
def test_what_the_manifest_does_not_list_does_no_harm_and_is_named_on_demand(bundle: Path, path: str) -> None:
    check_nothing_else(bundle)
    (bundle / path).parent.mkdir(parents=True, exist_ok=True)
    (bundle / path).mkdir() if path.endswith("/") else (bundle / path).write_bytes(b"")
    verify(bundle)
    with pytest.raises(UnexpectedFileError, match=f"holds '{path.partition('deep')[0]}', which"):
        check_nothing_else(bundle, "else")
    if not path.endswith("/") and "new" not in path:
        check_nothing_else(bundle, ".DS_Store", "extra", "extra.so")


def test_only_files_are_ignored(bundle: Path) -> None:
    (bundle / "extra").mkdir()
    with pytest.raises(UnexpectedFileError):
        check_nothing_else(bundle, "extra")


def link_files(bundle: Path, link: Callable[[Path, Path], None]) -> None:
    """Moves every file to a store and links it from its place in the bundle."""
    store = bundle.parent / "store"
    store.mkdir()
    for number, path in enumerate(["manifest.msgpack", *files_of(bundle)]):
        (bundle / path).rename(store / str(number))
        link(store / str(number), bundle / path)


def link_relatively(source: Path, path: Path) -> None:
    """Links as the cache of Hugging Face's hub does."""
    path.symlink_to(os.path.relpath(source, path.parent))


LINKS = {"symbolic": os.symlink, "relative": link_relatively, "hard": os.link}


@pytest.mark.parametrize("kind", LINKS)
def test_how_a_file_is_linked_does_not_matter_but_its_content_does(bundle: Path, kind: str) -> None:
    link_files(bundle, LINKS[kind])
    verify(bundle)
    check_nothing_else(bundle)
    assert_every_digest_counts(bundle)


def link_twice(source: Path, path: Path) -> None:
    """Links through another link."""
    step = source.with_name(f"{source.name}-step")
    step.symlink_to(source)
    path.symlink_to(step)


@settings(max_examples=30)
@given(data=st.data())
def test_any_links_and_other_files_leave_the_listed_contents_as_they_are(
    sound: Path, data: st.DataObject
) -> None:
    """Only a listed file with another content is refused, and exactly the others are named on demand."""
    with TemporaryDirectory() as place:
        bundle = Path(shutil.copytree(sound, Path(place, "bundle")))
        paths = files_of(bundle)
        links = st.sampled_from([shutil.copyfile, *LINKS.values(), link_twice])
        link_files(bundle, lambda source, path: data.draw(links)(source, path))
        names = st.sampled_from(
            ["x", "lib/x.so", "voices/.DS_Store", "new/deep/x", "LICENSE~", "lib/baseline/x"]
        )
        extra = data.draw(st.sets(names))
        for path in extra:
            (bundle / path).parent.mkdir(exist_ok=True, parents=True)
            (bundle / path).touch()
        verify(bundle)
        with (
            nullcontext() if extra <= {"voices/.DS_Store"} else pytest.raises(UnexpectedFileError) as refusal
        ):
            check_nothing_else(bundle, ".DS_Store")
        if refusal:
            named = set(re.findall(r"'(.*?)'", str(refusal.value)))
            assert named == {path.replace("deep/x", "") for path in extra - {"voices/.DS_Store"}}
        changed = bundle / data.draw(st.sampled_from(paths))
        changed.write_bytes(bytes(changed.stat().st_size))
        with pytest.raises(DamagedFileError, match=changed.name):
            verify(bundle)


def test_directories_may_be_links(bundle: Path) -> None:
    for name in ("voices", "lib"):
        (bundle / name).rename(bundle.parent / name)
        (bundle / name).symlink_to(bundle.parent / name)
    verify(bundle)
    check_nothing_else(bundle)
    (bundle.parent / "voices" / "extra").touch()
    with pytest.raises(UnexpectedFileError, match="holds 'voices/extra', which"):
        check_nothing_else(bundle)


@pytest.mark.parametrize("path", ["NOTICE", "parameters.bin", "manifest.msgpack"])
def test_a_link_that_leads_nowhere_or_in_a_circle_is_named(bundle: Path, path: str) -> None:
    (bundle / path).unlink()
    (bundle / path).symlink_to("nowhere")
    with pytest.raises(MissingFileError, match=path if "manifest" in path else f"lacks {path} .a link that"):
        verify(bundle)
    (bundle / path).unlink()
    (bundle / path).symlink_to(path)
    with pytest.raises(UnreadableFileError, match=rf"{path} cannot be read \(.*symbolic links\)"):
        verify(bundle)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty"])
def test_a_link_to_a_device_is_refused_without_opening_it(
    bundle: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundle / "NOTICE").unlink()
    (bundle / "NOTICE").symlink_to(device)
    with BundleFiles(bundle) as files:
        manifest_of(files)
        monkeypatch.setattr(os, "open", fail_with(AssertionError("opened")))
        for check in (files.verify, lambda: files.read("NOTICE")):
            with pytest.raises(NotRegularFileError, match="NOTICE is a pipe, socket, device or directory"):
                check()


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


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


@pytest.mark.parametrize("make", [os.mkfifo, bound_socket], ids=["pipe", "socket"])
def test_pipes_and_sockets_are_refused_without_waiting_for_them(
    bundle: Path, make: Callable[[Path], None]
) -> None:
    (bundle / "NOTICE").unlink()
    make(bundle / "NOTICE")
    with pytest.raises(NotRegularFileError, match="NOTICE is a pipe, socket, device or directory"):
        verify(bundle)


@pytest.mark.parametrize("make", [os.mkfifo, bound_socket, os.mkdir], ids=["pipe", "socket", "directory"])
def test_a_manifest_that_is_no_regular_file_is_refused(bundle: Path, make: Callable[[Path], None]) -> None:
    manifest = bundle / "manifest.msgpack"
    manifest.rename(bundle.parent / "original")
    make(manifest)
    with pytest.raises(NotRegularFileError, match=r"manifest\.msgpack is a pipe, socket, device or dir"):
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
    (bundle / "parameters.bin").write_bytes(bytes((bundle / "parameters.bin").stat().st_size))
    with pytest.raises(DamagedFileError):
        Bundle.load(bundle)
