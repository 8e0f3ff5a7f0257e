"""The directories of reusable results on each system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from exporter import directories
from exporter.cli.terminal import ConsoleProgress
from exporter.errors import CacheError
from exporter.export.library_cache import LibraryCache
from exporter.export.plan import ExportOptions, make_plan
from exporter.parity.answers import AnswerStore
from runtime_min.errors import OutputError


def test_an_absolute_xdg_directory_is_used_and_any_other_is_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert directories.libraries() == tmp_path / "kokoro-export" / "libraries"
    monkeypatch.setenv("HOME", str(tmp_path))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert directories.cache() == tmp_path / ".cache" / "kokoro-export"


@pytest.mark.parametrize(("system", "expected"), [("darwin", "Library/Caches"), ("win32", "AppData/Local")])
def test_other_systems_have_caches_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    assert directories.cache() == tmp_path / expected / "kokoro-export"


def test_a_stored_file_is_of_this_user_alone_and_a_pipe_is_neither_read_nor_written(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "kind" / "entry"
    assert directories.read_stored(path) is None
    before = os.umask(0)
    directories.store(path, b"content")
    os.umask(before)
    assert directories.read_stored(path) == b"content"
    assert {place.stat().st_mode & 0o777 for place in (path.parent, path.parent.parent)} == {0o700}
    path.unlink()
    os.mkfifo(path)
    assert directories.read_stored(path) is None
    with pytest.raises(OutputError, match="is not a file"):
        directories.store(path, b"content")


def of_another_user(directory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    owner = os.geteuid() + 1
    found = SimpleNamespace(st_uid=owner, st_mode=directory.stat().st_mode)
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **how: found if path == directory else stat(path, **how))
    return f"belongs to user {owner} "


def open_to_all(directory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    directory.chmod(0o777)
    return "has mode 777"


@pytest.mark.parametrize("spoil", [of_another_user, open_to_all])
def test_a_directory_that_another_user_may_have_filled_is_refused(
    spoil: Callable[[Path, pytest.MonkeyPatch], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = spoil(tmp_path, monkeypatch)
    quiet = ConsoleProgress()
    for use in (
        lambda: LibraryCache(tmp_path),
        lambda: AnswerStore(tmp_path),
        lambda: make_plan(ExportOptions(tmp_path / "bundle", cache=tmp_path), quiet),
        lambda: make_plan(ExportOptions(tmp_path / "bundle", answers=tmp_path), quiet),
        lambda: directories.store(tmp_path / "entry", b""),
    ):
        with pytest.raises(CacheError, match=message):
            use()
    assert not list(tmp_path.iterdir())
