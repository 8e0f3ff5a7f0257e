"""Copies of libraries on systems that load none from memory."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from runtime_min.engine import sealed_library
from runtime_min.engine.sealed_library import library_file, remove_forgotten
from runtime_min.errors import ForbiddenCodeError, ResourceError

DAY = 86_400


def left_behind(directory: Path, name: str, age: float) -> Path:
    """A directory with a library, as a process leaves it on Windows."""
    place = directory / name
    place.mkdir()
    (place / "decoder-64.dll").write_bytes(b"MZ")
    os.utime(place, (time.time() - age,) * 2)
    return place


def test_only_old_copies_of_this_runtime_are_removed(tmp_path: Path) -> None:
    old = left_behind(tmp_path, "kokoro-library-old", 2 * DAY)
    young = left_behind(tmp_path, "kokoro-library-young", DAY / 2)
    other = left_behind(tmp_path, "somebody-else", 2 * DAY)
    remove_forgotten(tmp_path, time.time())
    assert not old.exists() and young.exists() and other.exists()


def test_a_copy_that_cannot_be_removed_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = left_behind(tmp_path, "kokoro-library-loaded", 2 * DAY)
    others = [left_behind(tmp_path, f"kokoro-library-{number}", 2 * DAY) for number in range(3)]
    inode, unlink = loaded.stat().st_ino, os.unlink

    def refuse(path: str, *, dir_fd: int | None = None) -> None:
        """As Windows does with a loaded library."""
        if os.stat(dir_fd if dir_fd is not None else Path(path).parent).st_ino == inode:
            raise PermissionError(5, "Access is denied", path)
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    remove_forgotten(tmp_path, time.time())
    assert (loaded / "decoder-64.dll").exists()
    assert not any(other.exists() for other in others)


def test_a_copy_lies_where_forgotten_ones_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(sealed_library.tempfile, "tempdir", str(tmp_path))
    with library_file("lib/x.dll", [b"MZ"]) as path:
        remove_forgotten(tmp_path, time.time() + 2 * DAY)
        assert not Path(path).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux loads libraries from memory")
@pytest.mark.parametrize("seconds", [0.4, 60])
def test_a_library_waits_until_nothing_holds_its_memory(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """A pipe holds a page, as the system does while it looks for memory to free."""
    monkeypatch.setattr(sealed_library, "_SEALINGS", 5)
    reader, writer = os.pipe()
    release = threading.Timer(seconds, os.read, (reader, 4096))

    def content() -> Iterator[bytes]:
        yield bytes(1 << 20)
        links = {number: Path(f"/proc/self/fd/{number}") for number in map(int, os.listdir("/proc/self/fd"))}
        (file,) = [number for number, link in links.items() if "held.so" in str(link.resolve())]
        assert os.splice(file, writer, 4096, offset_src=0) == 4096
        release.start()

    try:
        if seconds < 1:
            with library_file("lib/held.so", content()) as path:
                assert Path(path).stat().st_size == 1 << 20
                with pytest.raises(PermissionError):
                    Path(path).write_bytes(b"x")
        else:
            with (
                pytest.raises(ResourceError, match=r"Copying lib/held\.so .*busy"),
                library_file("lib/held.so", content()),
            ):
                pytest.fail("loaded")
    finally:
        release.cancel()
        release.join()
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("memory", [True, False])
def test_too_little_room_for_a_library_is_an_error_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, memory: bool
) -> None:
    def content() -> Iterator[bytes]:
        yield b"begun"
        raise OSError(errno.ENOSPC, "No space left on device")

    if not memory:
        monkeypatch.delattr(os, "memfd_create")
    with (
        pytest.raises(ResourceError, match=r"Copying lib/x\.so .*No space left.*not the bundle"),
        library_file("lib/x.so", content()),
    ):
        pytest.fail("loaded")


@pytest.mark.parametrize(
    "reason",
    [
        "/tmp/x.so: failed to map segment from shared object",
        "Error loading shared library /tmp/x.so: Operation not permitted",
        "[WinError 5] Access is denied",
        "[WinError 4551] An Application Control policy has blocked this file",
    ],
)
def test_a_place_without_execution_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(sealed_library.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with (
        pytest.raises(
            ForbiddenCodeError, match=rf"no code from its .*{tmp_path} .*set the environment.*TMPDIR"
        ),
        library_file("lib/x.so", [b""]),
    ):
        raise OSError(reason)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("reason", ["invalid ELF header", "failed to map segment from shared object"])
def test_another_failure_is_not_blamed_on_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(sealed_library.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=0))
    with pytest.raises(OSError, match=reason), library_file("lib/x.so", [b""]):
        raise OSError(reason)
