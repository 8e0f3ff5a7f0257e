"""Contents of a bundle to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.bundle.write import BundleContents
from tests.support.tiny.bundle import dummy_contents


@pytest.fixture
def made(tmp_path: Path) -> BundleContents:
    (tmp_path / "work").mkdir()
    return dummy_contents(tmp_path / "work")
