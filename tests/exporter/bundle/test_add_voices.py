"""Voices are added to a bundle whole or not at all, as if they had been there from the start."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import exporter.model.voice_packs
from exporter.bundle import add_voices as module
from exporter.bundle.add_voices import add_voices
from exporter.bundle.write import BundleContents, write_bundle
from exporter.cli.main import app
from exporter.errors import VoiceError
from runtime_min.errors import (
    BundleError,
    BusyDestinationError,
    DamagedFileError,
    DiskFullError,
    OutputError,
    UnexpectedFileError,
)
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.origin import signature_of
from runtime_min.format.verify import read_manifest, sha256_of, verify_files
from tests.support.files import bytes_of, fail_with
from tests.support.tiny.bundle import MAX_PHONEMES, STYLE, voices, with_entries


@pytest.fixture
def bundle(made: BundleContents, tmp_path: Path) -> Path:
    """A bundle in a directory of its own, so that anything left behind shows."""
    return write_bundle(tmp_path / "bundles" / "bundle", made)


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with one pack, of the tiny model's size."""
    of_tiny_size(monkeypatch)
    (tmp_path / "packs").mkdir()
    rows().tofile(tmp_path / "packs" / "zf_new.bin")
    return tmp_path / "packs"


def of_tiny_size(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(exporter.model.voice_packs, "ROWS", MAX_PHONEMES)
    patched.setattr(exporter.model.voice_packs, "COLUMNS", 2 * STYLE)


def rows(seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((MAX_PHONEMES, 2 * STYLE)).astype(np.float32)


def test_the_bundle_is_as_if_it_had_been_exported_with_the_voices(
    bundle: Path, packs: Path, made: BundleContents, tmp_path: Path
) -> None:
    rows(6).tofile(packs / "aa_first.bin")
    added, digest = add_voices(bundle, [packs])
    assert set(added) == {"aa_first", "zf_new"}
    assert digest == sha256_of(bundle / "manifest.msgpack")
    whole = replace(made, voices={**voices(), "aa_first": rows(6), "zf_new": rows()})
    assert bytes_of(bundle) == bytes_of(write_bundle(tmp_path / "whole", whole))
    verify_files(bundle, read_manifest(bundle))
    assert os.listdir(bundle.parent) == ["bundle"]


def test_a_bundle_that_is_loaded_keeps_its_files(bundle: Path, packs: Path) -> None:
    os.rename(packs / "zf_new.bin", packs / "af_heart.bin")
    table = np.memmap(bundle / "voices" / "af_heart.bin", "<f4", "r")
    before = table.copy()
    add_voices(bundle, [packs / "af_heart.bin"], overwrite=True)
    np.testing.assert_array_equal(table, before)
    np.testing.assert_array_equal(np.fromfile(bundle / "voices" / "af_heart.bin", "<f4"), rows().ravel())
    assert len(read_manifest(bundle).voices) == len(voices())


# Name and content of a second pack, if it is to be written, and what is said of it.
REFUSED = {
    "a name that is taken": ("af_heart.bin", rows().tobytes(), "has a voice af_heart already"),
    "a name that no path may have": ("b\xe5d voice.bin", rows().tobytes(), "cannot be the name of a voice"),
    "a name with the mark of a blend": ("a+b.bin", rows().tobytes(), "cannot be the name of a voice"),
    "a damaged pack": ("zf_bad.bin", b"short", "expected .* bytes"),
    "no pack": ("voice.txt", b"text", "is not a voice pack"),
    "no file": ("missing.pt", None, "cannot read the voice pack"),
    "two packs of one name": (".", None, "zf_new is there twice"),
}


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_and_the_bundle_stays(
    bundle: Path, packs: Path, name: str, content: bytes | None, message: str
) -> None:
    before = bytes_of(bundle)
    if content is not None:
        (packs / name).write_bytes(content)
    with pytest.raises(VoiceError, match=message):
        add_voices(bundle, [packs / "zf_new.bin", packs / name])
    assert bytes_of(bundle) == before


def test_a_pack_of_another_model_is_refused(
    bundle: Path, packs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter.model.voice_packs, "ROWS", MAX_PHONEMES // 2)
    monkeypatch.setattr(exporter.model.voice_packs, "COLUMNS", 4 * STYLE)
    with pytest.raises(VoiceError, match=r"is \[10, 8\] and the bundle takes \[20, 4\]"):
        add_voices(bundle, [packs])


def test_a_disk_without_room_for_the_copy_is_noticed(
    bundle: Path, packs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(bundle)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(DiskFullError, match="1000 are free"):
        add_voices(bundle, [packs])


def test_a_damaged_bundle_is_not_given_a_new_manifest(bundle: Path, packs: Path) -> None:
    path = bundle / "parameters.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    before = bytes_of(bundle)
    with pytest.raises(DamagedFileError):
        add_voices(bundle, [packs])
    assert bytes_of(bundle) == before
    with pytest.raises(BundleError):
        add_voices(packs, [packs])


@settings(max_examples=60)
@given(data=st.data())
def test_a_byte_that_changes_before_or_meanwhile_is_never_certified(
    sound: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("changed")
    bundle, pack = Path(shutil.copytree(sound, place / "bundle")), tmp_path_factory.mktemp("pack")
    rows().tofile(pack / "zf_new.bin")
    path = bundle / data.draw(st.sampled_from(sorted(bytes_of(bundle))))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    # Before all (only a pin shows that a manifest is another one), before a file is copied, or later.
    earliest = int(path.name == "manifest.msgpack")
    moment = data.draw(st.integers(earliest, len(read_manifest(sound).files) + 2))
    moments = count()

    def may_change(function: Callable[..., Any]) -> Callable[..., Any]:
        def changing(*arguments: Any) -> Any:
            if next(moments) == moment:
                path.write_bytes(content)
            return function(*arguments)

        return changing

    with pytest.MonkeyPatch.context() as patched:
        of_tiny_size(patched)
        for place_of, name in (
            (module, "read_packs"),
            (BundleFiles, "content"),
            (module, "write_voice"),
            (module, "write_manifest"),
        ):
            patched.setattr(place_of, name, may_change(getattr(place_of, name)))
        with pytest.raises(BundleError):
            module.add_voices(bundle, [pack])
    assert next(moments) > moment
    assert bytes_of(bundle) == {**bytes_of(sound), str(path.relative_to(bundle)): bytes(content)}
    assert os.listdir(place) == ["bundle"]


def test_other_files_in_the_directory_are_named_and_stay(bundle: Path, packs: Path) -> None:
    before = bytes_of(bundle)
    (bundle / "hello.wav").write_bytes(b"precious")
    with pytest.raises(UnexpectedFileError, match=r"holds 'hello\.wav', which"):
        add_voices(bundle, [packs])
    assert bytes_of(bundle) == {**before, "hello.wav": b"precious"}


def test_of_many_at_once_each_adds_its_voice_or_is_refused(bundle: Path, packs: Path) -> None:
    for index in range(12):
        rows(index).tofile(packs / f"zf_{index}.bin")

    def add(index: int) -> bool:
        try:
            add_voices(bundle, [packs / f"zf_{index}.bin"])
        except BusyDestinationError as error:
            assert str(bundle) in str(error)
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        added = {f"zf_{index}" for index, done in enumerate(pool.map(add, range(12))) if done}
    manifest = read_manifest(bundle)
    assert added and {voice.name for voice in manifest.voices} == {*voices(), *added}
    verify_files(bundle, manifest)
    assert os.listdir(bundle.parent) == ["bundle"]


def test_no_export_comes_between(
    bundle: Path, packs: Path, made: BundleContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = BundleFiles.read_manifest

    def exported_in_between(files: BundleFiles, most: int) -> bytes:
        monkeypatch.undo()
        with pytest.raises(BusyDestinationError):
            write_bundle(bundle, with_entries(made, parity={"run": 2}))
        return read(files, most)

    of_tiny_size(monkeypatch)
    monkeypatch.setattr(BundleFiles, "read_manifest", exported_in_between)
    add_voices(bundle, [packs])
    assert read_manifest(bundle).parity == made.manifest.parity


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
@pytest.mark.parametrize("call", ["pathlib.Path.open", "pathlib.Path.write_bytes", "os.fsync"])
def test_a_failure_leaves_the_bundle_as_it_was(
    bundle: Path, packs: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    before = bytes_of(bundle)
    with (
        monkeypatch.context() as patched,
        pytest.raises(OutputError if isinstance(error, OSError) else type(error)),
    ):
        patched.setattr(call, fail_with(error))
        add_voices(bundle, [packs])
    assert bytes_of(bundle) == before
    assert os.listdir(bundle.parent) == ["bundle"]


def test_the_command_says_what_was_added_and_the_new_digest(bundle: Path, packs: Path) -> None:
    signature_of(bundle).write_bytes(b"of the earlier manifest")
    run = CliRunner().invoke(app, ["add-voices", str(bundle), str(packs)])
    assert run.exit_code == 0, run.output
    assert "sign the bundle again" in run.output
    assert "added zf_new" in run.output
    assert sha256_of(bundle / "manifest.msgpack") in run.output
    again = CliRunner().invoke(app, ["add-voices", str(bundle), str(packs)])
    assert again.exit_code == 3 and "--overwrite" in again.output
