"""The folders import each other as pyproject.toml's rules allow."""

from __future__ import annotations

import pytest
from importlinter.cli import lint_imports

from tests.support.paths import ROOT


def test_the_import_rules_hold(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    code = lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert code == 0, capsys.readouterr().out
