"""Voices are added to a bundle whole or not at all, as if they had been there from the start."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import exporter.model.voice_packs
from exporter.bundle.add_voices import add_voices
from exporter.bundle.write import BundleContents, write_bundle
from exporter.cli.main import app
from exporter.errors import VoiceError
from runtime_min.errors import BundleError, DamagedFileError, DiskFullError, OutputError
from runtime_min.format.origin import signature_of
from runtime_min.format.verify import read_manifest, sha256_of, verify_files
from tests.support.tiny_bundle import MAX_PHONEMES, STYLE, dummy_contents, voices
from tests.support.written import bytes_of, fail_with


@pytest.fixture
def made(tmp_path: Path) -> BundleContents:
    (tmp_path / "work").mkdir()
    return dummy_contents(tmp_path / "work")


@pytest.fixture
def bundle(made: BundleContents, tmp_path: Path) -> Path:
    """A bundle in a directory of its own, so that anything left behind shows."""
    return write_bundle(tmp_path / "bundles" / "bundle", made)


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with one pack, of the tiny model's size."""
    monkeypatch.setattr(exporter.model.voice_packs, "ROWS", MAX_PHONEMES)
    monkeypatch.setattr(exporter.model.voice_packs, "COLUMNS", 2 * STYLE)
    (tmp_path / "packs").mkdir()
    rows().tofile(tmp_path / "packs" / "zf_new.bin")
    return tmp_path / "packs"


def rows(seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((MAX_PHONEMES, 2 * STYLE)).astype(np.float32)


def test_the_bundle_is_as_if_it_had_been_exported_with_the_voices(
    bundle: Path, packs: Path, made: BundleContents, tmp_path: Path
) -> None:
    rows(6).tofile(packs / "aa_first.bin")
    assert set(add_voices(bundle, [packs])) == {"aa_first", "zf_new"}
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


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
@pytest.mark.parametrize("call", ["shutil.copyfile", "pathlib.Path.write_bytes", "os.fsync"])
def test_a_failure_leaves_the_bundle_as_it_was(
    bundle: Path, packs: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    before = bytes_of(bundle)
    monkeypatch.setattr(call, fail_with(error))
    with pytest.raises(OutputError if isinstance(error, OSError) else type(error)):
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
