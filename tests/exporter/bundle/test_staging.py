"""A writer replaces a whole bundle or an empty directory, never anything else, and is never seen half-way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.bundle.pack import pack_bundle
from exporter.bundle.write import BundleContents, write_bundle
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.errors import BusyDestinationError, DestinationExistsError, NotABundleError, OutputError
from runtime_min.output import staging
from tests.support.files import bytes_of, fail_with
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def archive(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "bundle.tar"
    pack_bundle(sound, path)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of its own, so that anything left behind shows."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def a_users_files_and_a_manifest(path: Path, sound: Path) -> None:
    path.mkdir()
    (path / "manifest.msgpack").write_bytes(b"")
    (path / "thesis.tex").write_bytes(b"precious")


def a_bundle_and_a_file(path: Path, sound: Path) -> None:
    shutil.copytree(sound, path)
    (path / "voices" / "thesis.tex").write_bytes(b"precious")


def a_bundle_and_a_directory(path: Path, sound: Path) -> None:
    shutil.copytree(sound, path)
    (path / "thesis").mkdir()


def half_a_bundle(path: Path, sound: Path) -> None:
    shutil.copytree(sound, path)
    (path / "NOTICE").unlink()


def an_edited_bundle(path: Path, sound: Path) -> None:
    shutil.copytree(sound, path)
    (path / "README.txt").write_bytes(b"precious")


def a_link_to_a_bundle(path: Path, sound: Path) -> None:
    path.symlink_to(sound)


def a_link_to_nothing(path: Path, sound: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


# What makes it, and what the message names.
PRECIOUS: list[tuple[Callable[[Path, Path], object], str]] = [
    (lambda path, _: path.write_bytes(b"precious"), "a file"),
    (a_users_files_and_a_manifest, r"'thesis\.tex'"),
    (a_bundle_and_a_file, r"'voices/thesis\.tex'"),
    (a_bundle_and_a_directory, "'thesis/'"),
    (half_a_bundle, "lacks NOTICE"),
    (an_edited_bundle, r"README\.txt should have"),
    (a_link_to_a_bundle, "a link to '.*sound/bundle'"),
    (a_link_to_nothing, "a link to '.*nowhere'"),
]


@pytest.mark.parametrize(("make", "named"), PRECIOUS)
def test_what_is_no_whole_bundle_is_named_and_stays(
    made: BundleContents, archive: Path, sound: Path, place: Path,
    make: Callable[[Path, Path], object], named: str,
) -> None:  # fmt: skip
    precious = place / "precious"
    make(precious, sound)
    before, link = bytes_of(place), precious.is_symlink()
    for write in (
        lambda: write_bundle(precious, made),
        lambda: unpack_archive(archive, precious, force=True),
    ):
        with pytest.raises(
            NotABundleError, match=f"precious exists and is not a whole bundle without.*{named}"
        ):
            write()
        assert (bytes_of(place), precious.is_symlink()) == (before, link)
        assert os.listdir(place) == ["precious"]


def test_what_systems_put_into_any_directory_is_replaced(
    made: BundleContents, archive: Path, sound: Path, place: Path
) -> None:
    (place / "empty").mkdir()
    (place / "empty" / ".DS_Store").write_bytes(b"of the system")
    unpack_archive(archive, place / "empty")
    shutil.copytree(sound, place / "bundle")
    for path in (".DS_Store", "voices/Thumbs.db", "lib/desktop.ini"):
        (place / "bundle" / path).write_bytes(b"of the system")
    write_bundle(place / "bundle", made)
    assert bytes_of(place / "bundle") == bytes_of(place / "empty") == bytes_of(sound)


def test_a_bundle_of_links_is_replaced_and_what_they_lead_to_stays(
    made: BundleContents, sound: Path, place: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(sound, tmp_path / "store"))
    shutil.copytree(store, place / "bundle", copy_function=os.symlink)
    write_bundle(place / "bundle", made)
    assert bytes_of(place / "bundle") == bytes_of(store) == bytes_of(sound)
    assert not any(path.is_symlink() for path in (place / "bundle").rglob("*"))


def test_what_comes_to_the_place_while_a_bundle_is_written_stays(made: BundleContents, place: Path) -> None:
    before = bytes_of(write_bundle(place / "bundle", made))

    def somebody_writes(_: Path) -> dict[str, str]:
        (place / "bundle" / "thesis.tex").write_bytes(b"precious")
        return {}

    with pytest.raises(NotABundleError, match=r"thesis\.tex"):
        write_bundle(place / "bundle", made, somebody_writes)
    assert bytes_of(place / "bundle") == {**before, "thesis.tex": b"precious"}
    assert os.listdir(place) == ["bundle"]


def test_an_archive_and_what_was_unpacked_are_replaced_only_by_force(
    archive: Path, sound: Path, place: Path
) -> None:
    (place / "empty").mkdir()
    unpack_archive(archive, place / "empty")
    unpack_archive(archive, place / "bundle")
    with pytest.raises(DestinationExistsError, match=r"bundle exists.*--force"):
        unpack_archive(archive, place / "bundle")
    unpack_archive(archive, place / "bundle", force=True)
    assert bytes_of(place / "bundle") == bytes_of(place / "empty") == bytes_of(sound)
    kept = place / "kept.tar"
    kept.write_bytes(b"precious")
    with pytest.raises(DestinationExistsError, match=r"kept\.tar exists.*--force"):
        pack_bundle(sound, kept)
    assert kept.read_bytes() == b"precious"
    pack_bundle(sound, kept, force=True)
    assert kept.read_bytes() == archive.read_bytes()


@pytest.mark.parametrize("name", ["file/bundle", "x" * 250, "zero\0byte"])
def test_a_place_that_cannot_be_written_is_a_typed_error(
    made: BundleContents, archive: Path, place: Path, name: str
) -> None:
    (place / "file").write_bytes(b"")
    for write in (
        lambda: write_bundle(place / name, made),
        lambda: unpack_archive(archive, place / name),
    ):
        with pytest.raises(OutputError, match=r"cannot be written: .*name another directory"):
            write()
    assert os.listdir(place) == ["file"]


def test_an_error_of_the_measurement_is_not_called_one_of_writing(made: BundleContents, place: Path) -> None:
    with pytest.raises(OSError, match="no process"):
        write_bundle(place / "bundle", made, fail_with(OSError("no process")))


# Replaces a bundle in a child that kills itself before the n-th call that changes a name or opens a file to
# write, for every n. Where the system cannot exchange names, the next writer brings the earlier bundle back.
KILLED = """
import os, signal, sys
from pathlib import Path
from runtime_min.output.staging import locked
from exporter.bundle.write import write_bundle
from runtime_min.format.verify import read_manifest, verify_files
from tests.support.tiny.bundle import dummy_contents, with_entries
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "ctypes.dlsym"}
sys.platform, work, bundle = sys.argv[1], *map(Path, sys.argv[2:])
made = dummy_contents(work, ("bert",))
old, new = (with_entries(made, parity={"run": run}) for run in (1, 2))
found, ended = [2], False
while not ended:
    if found[-1] == 2:
        write_bundle(bundle, old)
    child = os.fork()
    if not child:
        left = iter(range(len(found)))
        sys.addaudithook(
            lambda event, details: (event in CHANGES or event == "open" and details[2] & os.O_WRONLY)
            and next(left, None) is None
            and os.kill(os.getpid(), signal.SIGKILL)
        )
        write_bundle(bundle, new)
        os._exit(0)
    ended = os.waitpid(child, 0)[1] == 0
    if sys.platform != "linux":
        with locked(bundle):
            pass
    manifest = read_manifest(bundle)
    verify_files(bundle, manifest)
    found.append(manifest.parity["run"])
print(found[1:])
"""


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_bundle_whole(
    tmp_path: Path, place: Path, system: str
) -> None:
    command = [sys.executable, "-c", KILLED, system, str(tmp_path), str(place / "bundle")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 30
    assert found == sorted(found) and set(found) == {1, 2}
    assert os.listdir(place) == ["bundle"]


def test_a_lock_whose_file_its_owner_removed_is_taken_anew(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking, the last owner ends: another process would lock a file of its own."""
    file, lock, left = place / ".bundle.lock", staging._lock, [1, 2]

    def lock_after_the_owner_ended(descriptor: int) -> None:
        if left:
            left.pop()
            file.unlink()
        lock(descriptor)

    monkeypatch.setattr(staging, "_lock", lock_after_the_owner_ended)
    with staging.locked(place / "bundle"):
        assert file.exists() and not left
        with pytest.raises(BusyDestinationError), staging.locked(place / "bundle"):
            pass
    assert os.listdir(place) == []
