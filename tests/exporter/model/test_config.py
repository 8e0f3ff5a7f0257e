"""A configuration that makes no Kokoro model is refused by the name of its entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.errors import ConfigError
from exporter.model import hub
from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.format.verify import sha256_of

OFFICIAL = json.loads(OFFICIAL_CONFIG.read_text(encoding="utf-8"))


def vocoder(**changes: Any) -> dict[str, Any]:
    return {"istftnet": OFFICIAL["istftnet"] | changes}


def test_the_official_configuration_is_the_hubs() -> None:
    assert sha256_of(OFFICIAL_CONFIG) == hub.SHA256["config.json"]
    assert read_config(OFFICIAL_CONFIG) == OFFICIAL
    assert len(OFFICIAL["vocab"]) == 114


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_token": None}, "n_token: .* valid integer, found None"),
        ({"n_layer": 0}, "n_layer: .* greater than or equal to 1, found 0"),
        ({"hidden_dim": 256}, "hidden_dim: .* should be 512, found 256"),
        ({"style_dim": 64}, "style_dim: .* should be 128, found 64"),
        ({"dropout": 1.5}, "dropout: .* less than 1, found 1.5"),
        ({"dropout": True}, "dropout: .* found True"),
        ({"vocab": {}}, "vocab: .* at least 1 item"),
        ({"vocab": {"a": 178}}, "vocab.a should be less than n_token, 178, and is 178"),
        ({"vocab": {"a": 0}}, "vocab.a: .* found 0"),
        ({"plbert": None}, "plbert: .* found None"),
        ({"istftnet": {}}, r"istftnet\.gen_istft_hop_size: Field required"),
        (vocoder(gen_istft_hop_size=4), "should be 600 samples a frame and is 480"),
        (vocoder(upsample_kernel_sizes=[20]), "upsample_kernel_sizes should have 2 entries and has 1"),
        (vocoder(resblock_dilation_sizes=[[1, 3, 5]]), "resblock_dilation_sizes should have 3 entries"),
        (vocoder(resblock_dilation_sizes=[[1, 3, 5], [1, 3], [1, 3, 5]]), r"sizes\.1: .* found \[1, 3\]"),
        (vocoder(upsample_rates=[10, "6"]), r"upsample_rates\.1: .* valid integer, found '6'"),
    ],
)
def test_an_entry_that_makes_no_model_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(OFFICIAL | change), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_config(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ("[]", "valid dictionary"), (None, "cannot read")],
)
def test_a_file_that_is_not_a_configuration_is_refused(
    content: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_config(path)
