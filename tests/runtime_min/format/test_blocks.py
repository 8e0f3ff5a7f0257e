"""Large files are compared block by block on several threads, and nothing is compared less."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import exporter.bundle.write
from exporter.bundle.write import BLOCK, write_bundle
from runtime_min.errors import ChangedFileError, DamagedFileError, ManifestError
from runtime_min.format import bundle_files
from runtime_min.format.bundle_files import BundleFiles
from runtime_min.format.manifest import MANIFEST_NAME
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import manifest_of, read_manifest, verify_bundle
from runtime_min.threads import running
from tests.support.fuzzing.manifest_changes import assign, changed, manifest_of_sound
from tests.support.tiny.bundle import dummy_contents

SIZE = 1_000
DIVIDED = "LICENSE"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose files are divided, as those of a real one, into more blocks than one thread takes."""
    place = tmp_path_factory.mktemp("blocks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporter.bundle.write, "BLOCK", SIZE)
        return write_bundle(place / "bundle", dummy_contents(place))


def digests_of(bundle: Path) -> dict[str, list[str]]:
    blocks = read_manifest(bundle).extensions["blocks"]
    assert blocks["bytes"] == SIZE
    digests: dict[str, list[str]] = blocks["digests"]
    return digests


def test_the_writer_lists_the_digest_of_every_block_of_every_larger_file(bundle: Path) -> None:
    found = digests_of(bundle)
    assert set(found) == {entry.path for entry in read_manifest(bundle).files if entry.bytes > SIZE}
    for path, digests in found.items():
        data = (bundle / path).read_bytes()
        pieces = [data[start : start + SIZE] for start in range(0, len(data), SIZE)]
        assert digests == [hashlib.sha256(piece).hexdigest() for piece in pieces]


def test_a_bundle_without_large_files_lists_no_blocks(tmp_path: Path) -> None:
    manifest = read_manifest(write_bundle(tmp_path / "bundle", dummy_contents(tmp_path)))
    assert "blocks" not in manifest.extensions
    assert max(entry.bytes for entry in manifest.files) < BLOCK


@pytest.mark.parametrize("threads", [1, 8])
def test_every_byte_of_every_block_counts_and_the_first_damaged_one_is_named(
    bundle: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", str(threads))
    path = bundle / DIVIDED
    data = path.read_bytes()
    count = -(-len(data) // SIZE)
    try:
        for offset in (0, SIZE - 1, SIZE, 5 * SIZE + 1, len(data) - 1):
            # What is damaged after it does not matter.
            damaged = bytearray(data)
            for place in {offset, len(data) - 1}:
                damaged[place] ^= 1
            path.write_bytes(damaged)
            expected = f"{DIVIDED}, block {offset // SIZE + 1} of {count}, should have SHA-256"
            with pytest.raises(DamagedFileError, match=expected):
                verify_bundle(bundle)
    finally:
        path.write_bytes(data)
    verify_bundle(bundle)


def test_a_file_that_grows_after_its_size_was_compared_is_noticed(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bundle / DIVIDED
    data = path.read_bytes()
    monkeypatch.setattr(BundleFiles, "check_contents", lambda self: path.write_bytes(data + b"x"))
    try:
        with pytest.raises(DamagedFileError, match=f"{DIVIDED}, block (\\d+) of \\1, should have SHA-256"):
            verify_bundle(bundle)
    finally:
        path.write_bytes(data)


def test_threads_share_a_file_of_which_only_its_own_position_is_read(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "pread")
    monkeypatch.setattr("runtime_min.threads.usable_cores", lambda: range(8))
    seek = os.lseek
    monkeypatch.setattr(os, "lseek", lambda *to: [seek(*to), time.sleep(1e-4)])
    with BundleFiles(bundle) as files:
        manifest_of(files)
        files.verify(8, keep=[DIVIDED])


def test_a_mapped_file_is_compared_block_by_block_once_its_time_changes(bundle: Path) -> None:
    path = bundle / DIVIDED
    data = path.read_bytes()
    with BundleFiles(bundle) as files:
        manifest_of(files)
        files.verify(keep=[DIVIDED])
        files.check_unchanged()
        os.utime(path, ns=(1, 1))
        files.check_unchanged()
        path.write_bytes(data[:-1] + b"x")
        with pytest.raises(ChangedFileError) as caught:
            files.check_unchanged()
        assert f"{DIVIDED}, block" in str(caught.value.__cause__)
    path.write_bytes(data)


def test_what_is_held_is_read_once(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = os.open
    with BundleFiles(bundle) as files:
        manifest_of(files)
        record = lambda path, *more, **named: opened.append(path) or real(path, *more, **named)  # noqa: E731
        monkeypatch.setattr(os, "open", record)
        with files.verifying(2, hold=["NOTICE"]):
            pass
        assert [files.read("NOTICE"), opened.count("NOTICE")] == [(bundle / "NOTICE").read_bytes(), 1]
        # It is not held for ever.
        assert [files.read("NOTICE"), opened.count("NOTICE")] == [(bundle / "NOTICE").read_bytes(), 2]


DIGESTS = ("extensions", "blocks", "digests")
HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no map": (assign("extensions", "blocks", []), "blocks: expected a map"),
    "a missing key": (assign("extensions", "blocks", {"bytes": 1}), "exactly the keys bytes, digests, found"),
    "an unknown key": (assign("extensions", "blocks", "salt", 1), "exactly the keys bytes, digests, found"),
    "blocks of nothing": (assign("extensions", "blocks", "bytes", 0), "bytes: expected an integer from 1"),
    "blocks below nothing": (assign("extensions", "blocks", "bytes", -1), "bytes: expected an integer from"),
    "blocks beyond any file": (assign("extensions", "blocks", "bytes", 1 << 62), "bytes: expected an integ"),
    "half a byte": (assign("extensions", "blocks", "bytes", 0.5), "bytes: expected an integer"),
    "another size": (assign("extensions", "blocks", "bytes", 500), "a digest for every 500 bytes of"),
    "a missing block": (lambda m: digests_in(m).pop(), "a digest for every 1000 bytes of 11358, found '11 d"),
    "a block too many": (lambda m: digests_in(m).append("0" * 64), "found '13 digests'"),
    "no blocks": (lambda m: digests_in(m).clear(), "expected an array of 1 to"),
    "half a digest": (lambda m: digests_in(m).append("0" * 32), "expected 64 lower-case"),
    "no digest": (lambda m: digests_in(m).append(1), "expected 64 lower-case"),
    "an unlisted file": (assign(*DIGESTS, "../outside", ["0" * 64]), "a file of the list 'files'"),
    "the manifest": (assign(*DIGESTS, MANIFEST_NAME, ["0" * 64]), "a file of the list 'files'"),
    "a name for terminals": (assign(*DIGESTS, "\x1b[2J", ["0" * 64]), "a string of printable characters"),
}


def digests_in(entries: dict[str, Any]) -> list[Any]:
    digests: list[Any] = entries["extensions"]["blocks"]["digests"][DIVIDED]
    return digests


@pytest.mark.parametrize("name", HOSTILE)
def test_blocks_that_do_not_divide_the_files_are_refused_by_name(bundle: Path, name: str) -> None:
    change, message = HOSTILE[name]
    with pytest.raises(ManifestError, match=message):
        parse_manifest(changed(manifest_of_sound(bundle), change))


@pytest.mark.parametrize("order", ["reversed", "overlapping", "empty"])
def test_blocks_out_of_order_are_damage(bundle: Path, tmp_path: Path, order: str) -> None:
    def change(entries: dict[str, Any]) -> None:
        digests = digests_in(entries)
        digests[:] = {
            "reversed": digests[::-1],
            "overlapping": [digests[0], *digests[:-1]],
            "empty": [hashlib.sha256().hexdigest()] * len(digests),
        }[order]

    (tmp_path / "bundle").mkdir()
    copy = tmp_path / "bundle"
    for path in bundle.iterdir():
        (copy / path.name).symlink_to(path)
    (copy / MANIFEST_NAME).unlink()
    (copy / MANIFEST_NAME).write_bytes(changed(manifest_of_sound(bundle), change))
    with pytest.raises(DamagedFileError, match=f"{DIVIDED}, block \\d+ of 12, should have"):
        verify_bundle(copy)


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 8))
def test_the_first_failure_in_order_is_raised(fails: list[bool], threads: int) -> None:
    begun = []

    def task(number: int) -> None:
        begun.append(number)
        if fails[number]:
            raise ValueError(number)

    tasks = [lambda number=number: task(number) for number in range(len(fails))]
    if any(fails):
        with pytest.raises(ValueError, match=f"^{fails.index(True)}$"), running(tasks, threads):
            pass
    else:
        with running(tasks, threads):
            pass
        assert sorted(begun) == list(range(len(fails)))


def test_a_damaged_file_comes_before_an_error_of_the_context(bundle: Path) -> None:
    def damaged() -> None:
        raise DamagedFileError("damaged")

    with pytest.raises(DamagedFileError), running([damaged], 1):
        raise ImportError
    with pytest.raises(ImportError), running([lambda: None], 1):
        raise ImportError


def test_an_interrupted_caller_waits_for_nothing_and_no_more_is_begun() -> None:
    release, begun = threading.Event(), []

    def wait() -> None:
        begun.append(1)
        release.wait(60)

    with pytest.raises(KeyboardInterrupt), running([wait, wait, wait], 1):
        raise KeyboardInterrupt
    release.set()
    assert len(begun) <= 1


def test_the_caller_is_one_of_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime_min.threads.usable_cores", lambda: [0, 1])
    both, seen = threading.Barrier(2), set()

    def meet() -> None:
        seen.add(threading.get_ident())
        both.wait(60)

    with running([meet] * 2, 2):
        assert threading.get_ident() not in seen
    assert len(seen) == 2 and threading.get_ident() in seen


def test_an_interrupt_of_a_task_that_the_caller_runs_is_raised_at_once() -> None:
    begun, release = threading.Event(), threading.Event()

    def wait() -> None:
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        begun.set()
        release.wait(60)

    caller = threading.get_ident()
    with pytest.raises(KeyboardInterrupt), running([wait, wait], 2):
        assert begun.wait(60)
    release.set()


def test_threads_are_no_more_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bundle_files.running is running
    monkeypatch.setattr("runtime_min.threads.usable_cores", lambda: [0, 1, 2])
    seen = set()

    def see() -> None:
        seen.add(threading.get_ident())

    with running([see] * 100, 1_000):
        pass
    assert 1 <= len(seen) <= 3
