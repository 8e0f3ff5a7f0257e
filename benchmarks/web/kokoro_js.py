"""kokoro-js from npm's registry, and the files that it would fetch from Hugging Face, with other weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.competitors.onnx_export import take_float_speed
from exporter.measure.fresh_process import call_fresh

PACKAGE = "kokoro-js@1.2.1"
RUNTIME = "@huggingface/transformers@3.5.1"
"""The version that the file for browsers of `PACKAGE` was made with, and whose WebAssembly it fetches."""
_PAD = "$"
_ENDS = {"SpecialToken": {"id": _PAD, "type_id": 0}}


def write_hub(
    place: Path, onnx: Path, voice: str, rows: NDArray[np.float32], words: Mapping[str, int]
) -> None:
    """Writes what kokoro-js fetches: configuration, tokens, model and voice.

    Args:
        place: a new directory.
        onnx: kokoro's own ONNX export.
        voice: name of the voice.
        rows: its rows, [510, 1, 256].
        words: token numbers of the phonemes.
    """
    for folder in ("onnx", "voices"):
        (place / folder).mkdir(parents=True)
    for name, content in {
        "config.json": {"model_type": "style_text_to_speech_2"},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizer", "unk_token": _PAD},
        "tokenizer.json": _tokens(words),
    }.items():
        (place / name).write_text(json.dumps(content), encoding="utf-8")
    call_fresh("kokoro-js's model", 1, take_float_speed, onnx, place / "onnx" / "model.onnx")
    np.asarray(rows).astype("<f4").tofile(place / "voices" / f"{voice}.bin")


def _tokens(words: Mapping[str, int]) -> dict[str, Any]:
    """Returns the description of a tokenizer: each character is a token, and 0 is at both ends."""
    return {
        "normalizer": None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_ENDS, {"Sequence": {"id": "A", "type_id": 0}}, _ENDS],
            "special_tokens": {_PAD: {"id": _PAD, "ids": [0], "tokens": [_PAD]}},
        },
        "decoder": None,
        "added_tokens": [],
        "model": {"vocab": {_PAD: 0, **words}},
    }
