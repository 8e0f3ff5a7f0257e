"""The configuration of the smallest model that kokoro's fixed sizes allow."""

from __future__ import annotations

import json
from typing import Any

from exporter.model.config import OFFICIAL_CONFIG


def small_config() -> dict[str, Any]:
    """Returns the official configuration with small sizes."""
    config: dict[str, Any] = json.loads(OFFICIAL_CONFIG.read_text(encoding="utf-8"))
    config["n_layer"] = 1
    config["n_token"] = 200
    config["vocab"] = {"a": 1, "ㄅ": 199}
    config["istftnet"]["upsample_initial_channel"] = 8
    config["plbert"] |= {
        "hidden_size": 8,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
    }
    return config
