"""A configuration that makes no Kokoro model is refused by the name of its entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.compiler.kokoro_model import model_without_weights
from exporter.errors import ConfigError
from exporter.model import hub
from exporter.model.config import OFFICIAL_CONFIG, read_config
from runtime_min.format.verify import sha256_of

OFFICIAL = json.loads(OFFICIAL_CONFIG.read_text(encoding="utf-8"))


def vocoder(**changes: Any) -> dict[str, Any]:
    return {"istftnet": OFFICIAL["istftnet"] | changes}


def bert(**changes: Any) -> dict[str, Any]:
    return {"plbert": OFFICIAL["plbert"] | changes}


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
        (vocoder(upsample_rates=[10, 5]), "should be 600 samples a frame and is 500"),
        (vocoder(gen_istft_hop_size=4), "should be 5, found 4"),
        (vocoder(gen_istft_n_fft=16), "should be 20, found 16"),
        (vocoder(upsample_initial_channel=6), "multiple of 2 to the number of upsample_rates, and is 6"),
        (
            vocoder(upsample_initial_channel=1 << 20),
            r"upsample_initial_channel: .* less than or equal to 1024",
        ),
        (vocoder(conv_dim=3), r"istftnet\.conv_dim: Extra inputs are not permitted"),
        (bert(_attn_implementation="eager"), r"plbert\._attn_implementation: Extra inputs are not permitted"),
        (
            bert(num_attention_heads=7),
            "hidden_size should be a multiple of 7, num_attention_heads, and is 768",
        ),
        (bert(num_hidden_layers=10**9), r"plbert\.num_hidden_layers: .* less than or equal to 16"),
        ({"n_token": 10**9}, "n_token: .* less than or equal to 65536, found 1000000000"),
        ({"vocab": {"\ud800": 1}}, "vocab.* valid string"),
        ({"vocab": {"": 1}}, "vocab.* at least 1 character"),
        ({"vocab": {"\x1b[2J": 0}}, r"vocab\.\\x1b\[2J"),
        ({"vocab": {str(n): 0 for n in range(1000)}}, "; and 995 more"),
        (vocoder(upsample_kernel_sizes=[20]), "upsample_kernel_sizes should have 2 entries and has 1"),
        (vocoder(resblock_dilation_sizes=[[1, 3, 5]]), "resblock_dilation_sizes should have 3 entries"),
        (vocoder(resblock_dilation_sizes=[[1, 3, 5], [1, 3], [1, 3, 5]]), r"sizes\.1: .* found \[1, 3\]"),
        (vocoder(upsample_rates=[10, "6"]), r"upsample_rates\.1: .* valid integer, found '6'"),
    ],
)
def test_an_entry_that_makes_no_model_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(OFFICIAL | change), encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as refused:
        read_config(path)
    assert len(str(refused.value)) < 2000 and str(refused.value).isprintable()


def test_other_entries_are_ignored_as_kokoro_ignores_them(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(OFFICIAL | {"comment": "\ud800"}), encoding="utf-8")
    assert read_config(path) == OFFICIAL


def test_the_largest_configuration_makes_a_model_that_a_machine_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    sizes = dict.fromkeys(("dim_in", "max_conv_dim", "max_dur", "n_mels"), 4096)
    changes = {
        **sizes,
        **{"n_layer": 16, "n_token": 1 << 16, "text_encoder_kernel_size": 31},
        **bert(
            hidden_size=4096,
            intermediate_size=4096,
            max_position_embeddings=4096,
            num_hidden_layers=16,
            num_attention_heads=1,
        ),
        **vocoder(
            upsample_initial_channel=1024,
            upsample_rates=[1, 1, 2, 30],
            upsample_kernel_sizes=[31] * 4,
            resblock_kernel_sizes=[31] * 4,
            resblock_dilation_sizes=[[31] * 3] * 4,
        ),
    }
    path.write_text(json.dumps(OFFICIAL | changes), encoding="utf-8")
    model = model_without_weights(json.dumps(read_config(path)))
    assert 4 * sum(tensor.numel() for tensor in model.state_dict().values()) < 3 << 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "valid dictionary"),
        (None, "cannot read"),
        ('{"a":' * 50_000, "is not JSON: maximum recursion depth"),
        ('{"a": 1, "a": 2}', "is not JSON: an object has two entries with one key"),
        (" " * ((1 << 20) + 1), "is not JSON: it has more than 1,048,576 characters"),
    ],
)
def test_a_file_that_is_not_a_configuration_is_refused(
    content: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_config(path)
