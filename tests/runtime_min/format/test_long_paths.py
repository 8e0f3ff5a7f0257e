"""Windows opens a path of more than 259 characters in a form of its own, whatever opens it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exporter.bundle.pack import pack_bundle
from runtime_min.bundle_command.unpack import unpack_archive
from runtime_min.format import bundle_files, file_content
from runtime_min.format.archive import verify_archive
from runtime_min.format.file_content import extended_path
from runtime_min.format.verify import verify_bundle
from runtime_min.output import staging, writer
from tests.support.files import bytes_of

DEEP = "directory\\" * 25


@pytest.mark.parametrize(
    ("path", "extended"),
    [
        ("C:\\short\\bundle", "C:\\short\\bundle"),
        ("relative/bundle", "relative/bundle"),
        (f"C:\\{DEEP}lib/x.dll", f"\\\\?\\C:\\{DEEP}lib\\x.dll"),
        (f"C:/{DEEP}a/../x.dll", f"\\\\?\\C:\\{DEEP}x.dll"),
        (f"\\\\server\\share\\{DEEP}x", f"\\\\?\\UNC\\server\\share\\{DEEP}x"),
        (f"\\\\?\\C:\\{DEEP}x", f"\\\\?\\C:\\{DEEP}x"),
        ("\\\\?\\C:\\short/lib/x.dll", "\\\\?\\C:\\short\\lib\\x.dll"),
    ],
)
def test_only_a_long_path_gets_the_form_of_windows(path: str, extended: str) -> None:
    assert extended_path(path) == extended


def test_bundles_and_archives_are_opened_by_that_form(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory "long" is not there: only its other form leads to the directory "real"."""
    (tmp_path / "real").mkdir()
    for module in (bundle_files, file_content, staging, writer):
        monkeypatch.setattr(module, "long_path", lambda path: os.fspath(path).replace("/long/", "/real/"))
    # As on Windows, which opens no directories.
    monkeypatch.setattr(bundle_files, "_RELATIVE", False)
    place = tmp_path / "long"
    pack_bundle(sound, place / "bundle.tar")
    verify_archive(place / "bundle.tar")
    unpack_archive(place / "bundle.tar", place / "bundle")
    verify_bundle(place / "bundle", ignored=())
    unpack_archive(place / "bundle.tar", place / "bundle", force=True)
    assert bytes_of(tmp_path / "real" / "bundle") == bytes_of(sound)
    assert sorted(os.listdir(tmp_path)) == ["real"]
