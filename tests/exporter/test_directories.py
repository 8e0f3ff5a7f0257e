"""Where the exporter keeps what need not be made again, on each system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exporter import directories


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
