"""The command `kokoro-bundle` reads a packed bundle without unpacking it, and names defects."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from exporter.bundle.pack import pack_bundle
from exporter.bundle.sign import sign_bundle
from runtime_min import Bundle
from runtime_min.bundle_command.arguments import run as main
from runtime_min.errors import MissingFileError, ResourceError
from runtime_min.format import file_content
from runtime_min.format.archive import verify_archive
from tests.exporter.bundle.test_sign import make_key
from tests.support.files import bytes_of, fail_with


@pytest.fixture
def archive(sound: Path, tmp_path: Path) -> Path:
    pack_bundle(sound, tmp_path / "bundle.tar")
    return tmp_path / "bundle.tar"


def test_a_packed_bundle_is_inspected_as_its_directory_is(
    sound: Path, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for path in (sound, archive):
        for option in ([], ["--json"]):
            assert main(["inspect", str(path), *option]) == 0
            shown.append(capsys.readouterr().out)
    assert shown[:2] == shown[2:]
    assert "text_encoder" in shown[0] and "stages" in json.loads(shown[1])


def test_a_packed_bundle_is_verified_with_its_signature_and_nothing_is_written(
    sound: Path, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = make_key(tmp_path, "maker")
    signature = tmp_path / "bundle.tar.sig"
    sign_bundle(sound, private, signature)
    digest = hashlib.sha256((sound / "manifest.msgpack").read_bytes()).hexdigest()
    before = sorted(os.listdir(tmp_path))
    assert main(["verify", str(archive), "--key", str(public), "--manifest-sha256", digest]) == 0
    printed = capsys.readouterr().out
    assert f"signed with the key of {public}" in printed and digest in printed
    assert main(["verify", str(sound), "--key", str(public), "--signature", str(signature)]) == 0
    assert digest in capsys.readouterr().out
    assert sorted(os.listdir(tmp_path)) == before


def test_files_that_the_manifest_does_not_list_are_refused_on_demand(
    sound: Path, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(sound, tmp_path / "copy")
    for path in (copy, archive):
        assert main(["verify", str(path), "--strict"]) == 0
    (copy / "hello.wav").touch()
    assert main(["verify", str(copy)]) == 0
    assert main(["verify", str(copy), "--strict"]) == 4
    assert "holds 'hello.wav', which its manifest does not list" in capsys.readouterr().err


def refusals(archive: Path, tmp_path: Path) -> list[tuple[list[str], int, str]]:
    (tmp_path / "text").write_bytes(b"no bundle")
    other = str(make_key(tmp_path, "other")[1])
    return [
        (["verify", str(archive), "--manifest-sha256", "0" * 64], 4, "pinned is 0000"),
        (["verify", str(archive), "--key", other], 4, "There is no signature at"),
        (["verify", str(archive), "--signature", other], 3, "give the key, too"),
        (["verify", str(tmp_path / "text")], 4, "expected a directory"),
        (["inspect", str(tmp_path / "nothing")], 4, "expected a directory"),
        (["unpack", str(tmp_path / "text"), "-o", str(tmp_path / "new")], 4, "not a sound archive"),
        (["unpack", str(tmp_path), "-o", str(tmp_path / "new")], 4, "cannot be read"),
        (["unpack", str(archive), "-o", str(tmp_path / "text")], 6, "is not a whole bundle"),
    ]


def test_what_is_refused_has_a_sentence_and_its_exit_code(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, code, sentence in refusals(archive, tmp_path):
        assert main(arguments) == code, arguments
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ") and sentence in line
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:9999] + b"x" + data[10_000:]])
def test_a_damaged_archive_is_named(archive: Path, damage, capsys: pytest.CaptureFixture[str]) -> None:
    archive.write_bytes(damage(archive.read_bytes()))
    assert main(["verify", str(archive)]) == 4
    assert "is not a sound archive of a bundle" in capsys.readouterr().err


def test_what_was_unpacked_is_the_bundle_and_is_replaced_only_by_force(
    sound: Path, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["unpack", str(archive), "-o", str(tmp_path / "bundle")]
    assert [main(command), main(command), main([*command, "--force"])] == [0, 6, 0]
    assert "add --force" in capsys.readouterr().err
    assert bytes_of(tmp_path / "bundle") == bytes_of(sound)
    assert sorted(os.listdir(tmp_path)) == ["bundle", "bundle.tar"]


def test_loading_a_packed_bundle_fails_with_what_to_do(archive: Path) -> None:
    with pytest.raises(
        MissingFileError, match=r'first run kokoro-bundle unpack ".*bundle\.tar" -o DIRECTORY'
    ):
        Bundle.load(archive)


def test_too_many_open_files_are_not_blamed_on_the_archive(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_content.os, "open", fail_with(OSError(errno.EMFILE, "Too many open files")))
    with pytest.raises(ResourceError, match="Too many open files"):
        verify_archive(archive)
