"""Fixtures of checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tiny.config import small_config


@pytest.fixture(scope="module")
def config_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a small model."""
    path = tmp_path_factory.mktemp("config") / "config.json"
    path.write_text(json.dumps(small_config()), encoding="utf-8")
    return path
