"""The synthetic checkpoint of the full architecture, exported by kokoro, is the same weights again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.competitors.onnx_export import export_onnx, quantise
from exporter.model import checkpoint, synthetic
from exporter.model.config import OFFICIAL_CONFIG
from tests.support.paths import ROOT

FLOAT32_BYTES = 327_000_000
# Measured by units in the last place: see docs/checkpoints.md.
MOST_UNITS = 6
MEASURED = """
import json, resource, sys
from exporter.model import checkpoint
from exporter.model.config import OFFICIAL_CONFIG, read_config
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
# The imports of kokoro and the model's shapes.
checkpoint.model_without_weights(json.dumps(read_config(OFFICIAL_CONFIG), sort_keys=True))
before = peak()
checkpoint.load(sys.argv[1], OFFICIAL_CONFIG)
print(peak() - before)
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    export_onnx(synthetic.ensure_file(OFFICIAL_CONFIG), OFFICIAL_CONFIG, path)
    return path


@pytest.fixture(scope="module")
def rounded(exported: Path) -> Path:
    path = exported.with_name("model.int8.onnx")
    quantise(exported, path)
    return path


@pytest.mark.slow
def test_all_but_folded_weights_are_equal_to_the_bit(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = checkpoint.load("synthetic").model.state_dict()
    units = {}
    for name, value in checkpoint.load(str(exported), OFFICIAL_CONFIG).model.state_dict().items():
        apart = value.view(torch.int32).long() - expected[name].view(torch.int32).long()
        if apart.any() and not name.startswith("bert.pooler."):
            units[name] = int(apart.abs().max())
    normed = {name for name in units if "conv" in name or "ups" in name or "pool" in name or "res" in name}
    normed |= {name for name in units if name.startswith("text_encoder.cnn.")}
    assert units.keys() == normed and len(units) <= 88
    assert max(units.values()) <= MOST_UNITS
    with capsys.disabled():
        print(f"\n{len(expected)} tensors, {len(units)} not equal, by {max(units.values())} units at most")


@pytest.mark.slow
def test_reading_takes_less_than_two_models_of_memory(
    exported: Path, rounded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (exported, rounded):
        command = [sys.executable, "-W", "ignore", "-c", MEASURED, str(path)]
        peak = int(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        assert peak < 2 * FLOAT32_BYTES
        with capsys.disabled():
            print(f"\n{path.name}: {peak / 1e6:.0f} MB besides the process's own")


@pytest.mark.slow
def test_rounded_weights_differ_by_half_a_step(rounded: Path) -> None:
    expected = checkpoint.load("synthetic").model.state_dict()
    loaded = checkpoint.load(str(rounded), OFFICIAL_CONFIG)
    assert sum(loaded.rounded.values()) > 150
    for name, value in loaded.model.state_dict().items():
        if not name.startswith("bert.pooler."):
            assert (value - expected[name]).abs().max() <= expected[name].abs().max() / 254 * 1.02, name
