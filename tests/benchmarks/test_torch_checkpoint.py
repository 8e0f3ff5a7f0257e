"""Any checkpoint becomes a file that kokoro's own loader reads, with the same weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from kokoro.model import KModel

from benchmarks.torch_checkpoint import write_torch_checkpoint
from exporter.compiler.kokoro_model import build_model, make_weights_plain
from exporter.model import checkpoint
from exporter.model.config import read_config
from tests.support.tiny.config import small_config


def test_kokoro_loads_the_same_weights_and_rows_of_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(small_config()), encoding="utf-8")
    model = build_model(read_config(config))
    make_weights_plain(model)
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    expected["predictor.F0.0.conv1.weight"][3] = 0
    model.load_state_dict(expected)
    monkeypatch.setattr(checkpoint, "load_model", lambda *files: (model, {}))
    write_torch_checkpoint(tmp_path / "any.onnx", config, tmp_path / "kokoro.pth")
    loaded = KModel(repo_id="any", config=str(config), model=str(tmp_path / "kokoro.pth"))
    make_weights_plain(loaded)
    found = loaded.state_dict()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=3e-7, atol=0)
    assert not found["predictor.F0.0.conv1.weight"][3].any()
