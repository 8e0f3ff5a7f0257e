"""The folders import each other as pyproject.toml's rules allow; the C library's include those below them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.support.paths import ROOT

C_LIBRARY = ROOT / "runtime_native"
C_FOLDERS = (
    *("include", "generated", "base", "output", "format", "engine", "model", "speech"),
    *("text/written_forms", "text", ".", "web"),
)
"""The folders of the C library. Each includes files of its own and of the folders before it."""
INCLUDED = re.compile(r'^#(?:include|embed) "(.+)"', re.MULTILINE)


def test_the_import_rules_hold(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    code = lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert code == 0, capsys.readouterr().out


def test_the_settings_of_all_tests_come_before_what_reads_them() -> None:
    code = "import sys, tests.conftest; print({'torch', 'tvm', 'tvm_ffi'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_folders_of_the_c_library_include_those_below() -> None:
    sources = [path for path in C_LIBRARY.rglob("*") if path.suffix in (".cpp", ".h", ".inc")]
    included = [
        (path, (path.parent / name).resolve())
        for path in sources
        for name in INCLUDED.findall(path.read_text())
    ]
    assert all(target.is_file() for _, target in included)
    upward = [(path, target) for path, target in included if floor(path) < floor(target)]
    assert included and not upward


def floor(path: Path) -> int:
    """Returns the place of a file's folder in the order."""
    return C_FOLDERS.index(path.parent.relative_to(C_LIBRARY).as_posix())
