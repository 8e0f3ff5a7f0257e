"""A manifest's entry about the file of its weights is checked, and shown in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime_min.bundle_command.manifest_tables import as_text
from runtime_min.engine.machine import this_machine
from runtime_min.errors import ManifestError
from runtime_min.format.verify import read_manifest
from runtime_min.format.weights_source import EXTENSION, WeightsSource, read_weights_source

ROUNDED = {"format": "onnx", "rounded": {"int8": 110, "uint8": 87}}


def test_it_is_read_and_said_in_words() -> None:
    found = read_weights_source({EXTENSION: ROUNDED})
    assert found == WeightsSource("onnx", {"int8": 110, "uint8": 87})
    assert "197 had been rounded to 8 bits before (110 int8, 87 uint8)" in found.as_text()
    assert WeightsSource("onnx", {}).as_text() == "read from a file of the format onnx"
    assert read_weights_source({}) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"format": 1},
        {"format": "\x1b[2J"},
        {"rounded": {"int8": 0}},
        {"rounded": {"int8": "many"}},
        {"rounded": {"\x1b[2J": 1}},
        {"rounded": [1]},
        {"other": 1},
    ],
)
def test_what_breaks_its_schema_is_refused_by_its_place(changed: dict[str, Any]) -> None:
    with pytest.raises(ManifestError, match=r"extensions\.weights"):
        read_weights_source({EXTENSION: ROUNDED | changed})


def test_inspect_says_that_the_weights_were_rounded_before(sound: Path) -> None:
    manifest = read_manifest(sound)
    assert "weights before" not in as_text(manifest, this_machine())
    rounded = manifest._replace(extensions={**manifest.extensions, EXTENSION: ROUNDED})
    assert "197 had been rounded to 8 bits before" in " ".join(as_text(rounded, this_machine()).split())
