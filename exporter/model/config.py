"""Read and check the configuration of a Kokoro model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from exporter.errors import ConfigError
from runtime_min.format.signatures import SAMPLES_PER_FRAME

Config = dict[str, Any]

_SIZES = ("dim_in", "hidden_dim", "max_conv_dim", "max_dur", "n_layer", "n_mels", "n_token", "style_dim")
_KERNEL = "text_encoder_kernel_size"
_ISTFTNET_SIZES = ("gen_istft_hop_size", "gen_istft_n_fft", "upsample_initial_channel")
_ISTFTNET_LISTS = ("upsample_kernel_sizes", "upsample_rates", "resblock_kernel_sizes")
_PLBERT_SIZES = (
    "hidden_size",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "num_hidden_layers",
)


def read_config(path: Path) -> Config:
    """Read a ``config.json`` and check everything that the model is built from.

    Raises:
        ConfigError: unreadable, not JSON, or an entry is missing or makes no Kokoro model.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"the configuration {path} is not JSON: {error}") from error
    try:
        _check(config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return dict(config)


def _check(config: object) -> None:
    top = _mapping(config, "the configuration")
    for name in (*_SIZES, _KERNEL):
        _size(top, name)
    istftnet = _mapping(top.get("istftnet"), "istftnet")
    plbert = _mapping(top.get("plbert"), "plbert")
    for name in _ISTFTNET_SIZES:
        _size(istftnet, name, "istftnet.")
    for name in _ISTFTNET_LISTS:
        _sizes(istftnet.get(name), f"istftnet.{name}")
    for name in _PLBERT_SIZES:
        _size(plbert, name, "plbert.")
    _check_dropout(top)
    _check_dilations(istftnet)
    _check_fixed(top, istftnet)
    _check_vocabulary(top)


def _check_dropout(top: Config) -> None:
    dropout = top.get("dropout")
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ConfigError(f"dropout: expected a number from 0 to below 1, found {dropout!r}")


def _check_dilations(istftnet: Config) -> None:
    dilations, kernels = istftnet.get("resblock_dilation_sizes"), istftnet["resblock_kernel_sizes"]
    if not isinstance(dilations, list) or len(dilations) != len(kernels):
        raise ConfigError(
            f"istftnet.resblock_dilation_sizes: expected {len(kernels)} lists, one for each of "
            f"resblock_kernel_sizes, found {dilations!r}"
        )
    for entry in dilations:
        if len(_sizes(entry, "istftnet.resblock_dilation_sizes")) != 3:
            raise ConfigError(
                f"istftnet.resblock_dilation_sizes: expected three in each list, found {entry!r}"
            )


def _check_fixed(top: Config, istftnet: Config) -> None:
    """Check the sizes that kokoro's code, or the frame of 600 samples, has fixed."""
    for name, expected in (("hidden_dim", 512), ("style_dim", 128)):
        if top[name] != expected:
            raise ConfigError(f"{name}: kokoro's code works only with {expected}, found {top[name]}")
    rates, kernels = istftnet["upsample_rates"], istftnet["upsample_kernel_sizes"]
    if len(rates) != len(kernels):
        raise ConfigError(f"istftnet: {len(rates)} upsample_rates but {len(kernels)} upsample_kernel_sizes")
    samples = 2 * math.prod(rates) * istftnet["gen_istft_hop_size"]
    if samples != SAMPLES_PER_FRAME:
        raise ConfigError(
            f"istftnet: expected 2 x upsample_rates x gen_istft_hop_size to be {SAMPLES_PER_FRAME} samples a "
            f"frame, found {samples}"
        )


def _check_vocabulary(top: Config) -> None:
    vocabulary = _mapping(top.get("vocab"), "vocab")
    if not vocabulary:
        raise ConfigError("vocab: expected phonemes and their token ids, found none")
    for phoneme, token in vocabulary.items():
        # 0 is the token around every utterance.
        if isinstance(token, bool) or not isinstance(token, int) or not 0 < token < top["n_token"]:
            raise ConfigError(
                f"vocab: {phoneme!r}: expected a token id from 1 to {top['n_token'] - 1}, found {token!r}"
            )


def _mapping(value: object, name: str) -> Config:
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: expected a JSON object, found {_kind(value)}")
    return value


def _size(mapping: Config, name: str, prefix: str = "") -> None:
    value = mapping.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{prefix}{name}: expected a whole number above 0, found {_kind(value)}")


def _sizes(value: object, name: str) -> list[int]:
    if (
        not isinstance(value, list)
        or not value
        or any(isinstance(entry, bool) or not isinstance(entry, int) or entry < 1 for entry in value)
    ):
        raise ConfigError(f"{name}: expected a list of whole numbers above 0, found {value!r}")
    return value


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{value!r:.60}"
