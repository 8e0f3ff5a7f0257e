"""Writing a bundle: whole or not at all, the same bytes every time, and only over a bundle."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exporter.bundle.write import BundleContents, write_bundle
from exporter.compiler.library import Weight
from runtime_min.errors import BusyDestinationError, DiskFullError, ManifestError, OutputError
from runtime_min.format.manifest import ALIGNMENT, CpuLevel
from runtime_min.format.verify import read_manifest, verify_files
from runtime_min.output.staging import locked, replace_directory
from tests.support import golden
from tests.support.files import bytes_of, fail_with
from tests.support.paths import ROOT
from tests.support.tiny.bundle import tensors, voices, with_entries, with_levels


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of its own, so that anything left behind shows."""
    return tmp_path / "bundles"


def test_what_is_written_verifies_and_holds_what_was_given(made: BundleContents, place: Path) -> None:
    bundle = write_bundle(place / "bundle", made)
    manifest = read_manifest(bundle)
    verify_files(bundle, manifest)
    data = bytearray((bundle / manifest.parameters.file).read_bytes())
    for tensor in manifest.parameters.tensors:
        assert tensor.offset % ALIGNMENT == 0
        found = np.frombuffer(data[tensor.offset : tensor.offset + tensor.bytes], tensor.dtype)
        np.testing.assert_array_equal(found.reshape(tensor.shape), tensors()[tensor.name])
        data[tensor.offset : tensor.offset + tensor.bytes] = bytes(tensor.bytes)
    assert not any(data), "the gaps between tensors are zero"
    for voice in manifest.voices:
        rows = np.fromfile(bundle / voice.file, "<f4").reshape(voice.rows, voice.columns)
        np.testing.assert_array_equal(rows, voices()[voice.name])
    assert dict(manifest.vocabulary) == dict(made.manifest.vocabulary)
    assert dict(manifest.parity) == dict(made.manifest.parity)
    assert {"LICENSE", "NOTICE", "README.txt", "runtime_min.pyz"} <= set(bytes_of(bundle))
    for name in ("LICENSE", "NOTICE"):
        assert (bundle / name).read_bytes() == (ROOT / name).read_bytes()


def test_the_same_contents_give_the_same_bytes_in_any_memory_order(made: BundleContents, place: Path) -> None:
    column_major = tuple(replace(source, values=np.asfortranarray(source.values)) for source in made.tensors)
    first = write_bundle(place / "first", made)
    second = write_bundle(place / "elsewhere" / "second", replace(made, tensors=column_major))
    assert bytes_of(first) == bytes_of(second)


def test_every_level_and_bucket_has_its_library(made: BundleContents, place: Path) -> None:
    levels = (CpuLevel("v4", ("avx512f",)), CpuLevel("v3", ("avx2",)))
    manifest = read_manifest(write_bundle(place / "bundle", with_levels(made, levels)))
    for stage in manifest.stages:
        for level in levels:
            assert list(stage.buckets(level.name)) == sorted(stage.buckets(level.name))
            assert all(level.name in library.file for library in stage.buckets(level.name).values())


def test_contents_that_no_reader_accepts_are_refused(made: BundleContents, place: Path) -> None:
    for dtype in ("float64", ">f2", ">f4", "complex64"):
        tensor = Weight("x", np.zeros(3, dtype))
        with pytest.raises(ValueError, match="x: expected one of float32, int64, int32"):
            write_bundle(place / "bundle", replace(made, tensors=(*made.tensors, tensor)))
    with pytest.raises(ManifestError, match="names of the parameter table"):
        write_bundle(place / "bundle", replace(made, tensors=made.tensors[:1]))
    with pytest.raises(ManifestError, match="vocabulary"):
        write_bundle(place / "bundle", with_entries(made, vocabulary={"a": -1}))
    assert os.listdir(place) == []


def test_the_archive_holds_the_whole_runtime_with_fixed_dates(made: BundleContents, place: Path) -> None:
    bundle = write_bundle(place / "bundle", made)
    package = ROOT / "runtime_min"
    with zipfile.ZipFile(bundle / "runtime_min.pyz") as archive:
        expected = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in package.rglob("*.py")}
        assert {entry.filename for entry in archive.infolist()} == {
            *expected,
            "runtime_min/py.typed",
            "__main__.py",
        }
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        for name, data in expected.items():
            assert archive.read(name) == data


def test_the_readme_warns_of_synthetic_weights_only(made: BundleContents, place: Path) -> None:
    real = with_entries(made, model=made.manifest.model._replace(synthetic=False, source="hub"))
    for contents, warns in ((made, True), (real, False)):
        bundle = write_bundle(place / "bundle", contents)
        readme = (bundle / "README.txt").read_text(encoding="utf-8")
        assert ("babbles" in readme) is warns


@pytest.mark.parametrize(
    ("system", "program"), [("android", "kokoro.bundle"), ("web", "kokoro.mjs"), ("ios", "SpeechBundle")]
)
def test_the_readme_has_a_program_of_the_system(
    made: BundleContents, place: Path, system: str, program: str
) -> None:
    if system == "ios":
        place.mkdir()
        made = golden.module(place)
    other = with_entries(made, target=made.manifest.target._replace(system=system))
    readme = (write_bundle(place / "bundle", other) / "README.txt").read_text(encoding="utf-8")
    assert program in readme and "pip install" not in readme and "{{" not in readme


def test_parity_is_measured_on_the_finished_bundle(made: BundleContents, place: Path) -> None:
    seen = []

    def measure(bundle: Path) -> dict[str, float]:
        verify_files(bundle, read_manifest(bundle))
        seen.append(bundle)
        return {"decoder.db": 99.5}

    bundle = write_bundle(place / "bundle", made, measure)
    assert read_manifest(bundle).parity == {"decoder.db": 99.5}
    assert seen != [bundle]
    assert os.listdir(place) == ["bundle"]


@pytest.mark.parametrize("system", ["linux", "darwin"])
@pytest.mark.parametrize("earlier", ["bundle", "empty directory"])
def test_an_earlier_bundle_or_an_empty_directory_is_replaced_and_nothing_is_left(
    made: BundleContents, place: Path, monkeypatch: pytest.MonkeyPatch, earlier: str, system: str
) -> None:
    if earlier == "bundle":
        write_bundle(place / "bundle", made)
    else:
        (place / "bundle").mkdir(parents=True)
    # Only Linux exchanges two names; other systems rename twice.
    monkeypatch.setattr(sys, "platform", system)
    bundle = write_bundle(place / "bundle", with_entries(made, parity={"run": 2}))
    assert read_manifest(bundle).parity == {"run": 2}
    verify_files(bundle, read_manifest(bundle))
    assert os.listdir(place) == ["bundle"]


# Each is used on the way; the last one when everything is written.
CALLS = ("shutil.copyfile", "zipfile.ZipFile.writestr", "pathlib.Path.write_bytes", "os.fsync")
ERRORS = {
    "an interruption": (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
    "a file that may not grow": (OSError(errno.EFBIG, "File too large"), OutputError, "File too large"),
    "a defect": (RuntimeError("compiler killed"), RuntimeError, "compiler killed"),
    "a full disk": (OSError(errno.ENOSPC, "?"), DiskFullError, r"bundle needs \d+ bytes and \d+ are free"),
    "another error of the system": (PermissionError(errno.EACCES, "denied"), OutputError, "denied"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("error", "expected", "message"), ERRORS.values(), ids=ERRORS)
def test_a_failure_leaves_the_earlier_bundle_and_nothing_else(
    made: BundleContents, place: Path, monkeypatch: pytest.MonkeyPatch, call: str,
    error: BaseException, expected: type[BaseException], message: str,
) -> None:  # fmt: skip
    before = bytes_of(write_bundle(place / "bundle", made))
    with monkeypatch.context() as patched:
        patched.setattr(call, fail_with(error))
        with pytest.raises(expected, match=message):
            write_bundle(place / "bundle", made)
    assert bytes_of(place / "bundle") == before
    assert os.listdir(place) == ["bundle"]


def test_a_failed_rename_brings_the_earlier_bundle_back(
    made: BundleContents, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bytes_of(write_bundle(place / "bundle", made))
    rename = Path.rename

    def fail_for_the_staging_place(self: Path, target: Path) -> Path:
        if self.name.endswith(".staging"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(Path, "rename", fail_for_the_staging_place)
    with pytest.raises(OutputError, match="Input/output error"):
        write_bundle(place / "bundle", made)
    assert bytes_of(place / "bundle") == before
    assert os.listdir(place) == ["bundle"]


def test_a_disk_without_room_is_noticed_before_writing(
    made: BundleContents, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(place.parent)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr("shutil.copyfile", fail_with(AssertionError("wrote")))
    with pytest.raises(DiskFullError) as refusal:
        write_bundle(place / "bundle", made)
    assert refusal.value.free == 1000
    assert refusal.value.needed > 1000
    assert os.listdir(place) == []


def test_an_earlier_bundle_is_exchanged_at_one_blow(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("old", "new"):
        (place / name).mkdir(parents=True)
        (place / name / name).write_bytes(b"")
    # There is no moment at which neither is at the place.
    monkeypatch.setattr(Path, "rename", fail_with(AssertionError("two renames")))
    replace_directory(place / "new", place / "old")
    assert [path.name for path in (place / "old").iterdir()] == ["new"]


def test_a_place_that_another_process_writes_to_is_left_alone(made: BundleContents, place: Path) -> None:
    before = bytes_of(write_bundle(place / "bundle", made))
    with locked(place / "bundle"):
        with pytest.raises(BusyDestinationError, match=r"is writing .*/bundle: wait until it has ended"):
            write_bundle(place / "bundle", with_entries(made, parity={"run": 2}))
        write_bundle(place / "another", made)
    assert bytes_of(place / "bundle") == before
    assert sorted(os.listdir(place)) == ["another", "bundle"]


def test_of_many_at_once_one_writes_and_nothing_is_mixed(made: BundleContents, place: Path) -> None:
    place.mkdir()

    def write(run: int) -> bool:
        try:
            write_bundle(place / "bundle", with_entries(made, parity={"run": run}))
        except BusyDestinationError:
            return False
        verify_files(place / "bundle", read_manifest(place / "bundle"))
        return True

    # A lock belongs to an open file, so threads keep each other out as processes do.
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(write, range(20)))
    assert any(written)
    verify_files(place / "bundle", read_manifest(place / "bundle"))
    assert os.listdir(place) == ["bundle"]


# Writes a bundle over another, and stops at the measurement, where everything is in the staging place.
STOPPED = """
import sys, time
from dataclasses import replace
from pathlib import Path
import typer
from exporter.bundle.write import write_bundle
from exporter.cli.terminal import reported_errors
from tests.support.tiny.bundle import dummy_contents, with_entries
work, bundle = map(Path, sys.argv[1:])

def measure(staging):
    print("measuring", flush=True)
    time.sleep(60)

try:
    with reported_errors("interrupted"):
        write_bundle(bundle, with_entries(dummy_contents(work), parity={"run": 2}), measure)
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_a_signal_leaves_the_earlier_bundle_and_the_next_export_goes_on(
    made: BundleContents, place: Path, tmp_path: Path, number: signal.Signals
) -> None:
    before = bytes_of(write_bundle(place / "bundle", made))
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "work"), str(place / "bundle")]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "measuring\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert bytes_of(place / "bundle") == before
    if number is signal.SIGKILL:
        # Nobody could clean up, and nobody but the next one needs to.
        assert process.returncode == -signal.SIGKILL
    else:
        assert (process.returncode, errors) == (130, "interrupted\n")
        assert os.listdir(place) == ["bundle"]
    assert read_manifest(write_bundle(place / "bundle", with_entries(made, parity={"run": 3}))).parity == {
        "run": 3
    }
    assert os.listdir(place) == ["bundle"]
