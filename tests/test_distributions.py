"""Two distributions of one version: the runtime for apps, and the exporter that needs it."""

from __future__ import annotations

from typing import Any

import tomllib

from runtime_min import __version__
from tests.support.paths import ROOT

PLACES = {"kokoro-export-runtime": ROOT, "kokoro-export": ROOT / "exporter"}


def described(name: str) -> dict[str, Any]:
    return tomllib.loads((PLACES[name] / "pyproject.toml").read_text(encoding="utf-8"))


def test_both_have_one_version_and_the_exporter_needs_the_runtime_of_its_own() -> None:
    project = described("kokoro-export")["project"]
    assert project["version"] == __version__
    assert f"kokoro-export-runtime=={__version__}" in project["dependencies"]


def test_every_folder_of_the_exporter_is_a_package_of_its_distribution() -> None:
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "exporter").rglob("__init__.py")}
    packages = described("kokoro-export")["tool"]["setuptools"]["packages"]
    assert packages == sorted(".".join(folder.parts) for folder in folders)
