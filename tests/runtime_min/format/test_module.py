"""Bundles whose stages are one module that an app ships: what their manifests may say, and who loads them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgpack
import pytest

from runtime_min import Bundle, loading
from runtime_min.engine.machine import Machine
from runtime_min.errors import LibraryLoadError, ManifestError, MissingFileError, PlatformError
from runtime_min.format.manifest import MANIFEST_NAME
from runtime_min.format.parse import parse_manifest
from runtime_min.format.verify import read_manifest, verify_bundle
from tests.support.fuzzing.manifest_changes import Change, assign, changed
from tests.support.golden import GOLDEN

BUNDLE = GOLDEN / "module"
FOLDER = "native/Kokoro.framework"
BREAKS: dict[str, tuple[Change, str]] = {
    "no module": (lambda raw: raw.pop("module"), "module"),
    "no requirement": (assign("requires", []), "module"),
    "an identity in capitals": (assign("module", "identity", "A" * 64), "module.identity"),
    "a folder outside": (assign("module", "folder", "../native"), "module.folder"),
    "a folder without the libraries": (assign("module", "folder", "native/Other.framework"), "module.folder"),
    "a folder that begins as theirs": (assign("module", "folder", "native/Kokoro.frame"), "module.folder"),
    "another key": (assign("module", "path", "a"), "module"),
    "a runtime of TVM": (assign("runtime_library", f"{FOLDER}/Info.plist"), "runtime_library"),
    "all in the folder": (lambda raw: _move(raw, "parameters.bin"), "parameters.file"),
    "a voice in the folder": (lambda raw: _move(raw, raw["voices"][0]["file"]), r"voices\[0\].file"),
}
"""Manifests that both readers refuse, by what is wrong: the change, and the place in the message."""


def _move(raw: dict[str, Any], path: str) -> None:
    """Puts a file into the folder of the module."""
    moved = f"{FOLDER}/{Path(path).name}"
    for entry in raw["files"]:
        entry["path"] = moved if entry["path"] == path else entry["path"]
    raw["files"].sort(key=lambda entry: entry["path"])
    raw["parameters"]["file"] = moved if path == raw["parameters"]["file"] else raw["parameters"]["file"]
    for voice in raw["voices"]:
        voice["file"] = moved if voice["file"] == path else voice["file"]


def raw_manifest() -> dict[str, Any]:
    decoded: dict[str, Any] = msgpack.unpackb((BUNDLE / MANIFEST_NAME).read_bytes())
    return decoded


@pytest.mark.parametrize("name", BREAKS)
def test_a_wrong_module_is_refused(name: str) -> None:
    change, place = BREAKS[name]
    with pytest.raises(ManifestError, match=place):
        parse_manifest(changed(raw_manifest(), change))


def test_all_listed_files_are_verified_on_the_exporting_machine(tmp_path: Path) -> None:
    manifest = verify_bundle(BUNDLE)
    assert manifest.module is not None and manifest.module.folder == FOLDER
    assert manifest.module.holds(f"{FOLDER}/Kokoro") and not manifest.module.holds("native/Kokoro")
    copy = shutil.copytree(BUNDLE, tmp_path / "copy")
    (copy / FOLDER / "Kokoro").unlink()
    with pytest.raises(MissingFileError, match=f"{FOLDER}/Kokoro"):
        verify_bundle(copy)


def test_python_loads_no_module(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlatformError, match="ios-arm64"):
        Bundle.load(BUNDLE)
    target = read_manifest(BUNDLE).target
    phone = Machine(target.system, target.machine, target.minimum_os, frozenset({"avx2"}))
    monkeypatch.setattr(loading, "this_machine", lambda: phone)
    with pytest.raises(LibraryLoadError, match=f"{FOLDER}: load it with that one"):
        Bundle.load(BUNDLE)
