"""The configuration of a Kokoro model, ``config.json``: its types and the sizes that belong together."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from exporter.errors import ConfigError
from runtime_min.format.signatures import SAMPLES_PER_FRAME

Config = dict[str, Any]

PARTS = ("bert", "bert_encoder", "predictor", "decoder", "text_encoder")
"""The model's modules, each with a state dict of its own in a checkpoint."""
OFFICIAL_CONFIG = Path(__file__).parent / "data" / "config.json"

_Size = Annotated[int, Field(strict=True, ge=1)]
_Sizes = Annotated[list[_Size], Field(min_length=1)]


class VocoderConfig(BaseModel):
    """Sizes of the vocoder, iSTFTNet."""

    gen_istft_hop_size: _Size
    gen_istft_n_fft: _Size
    resblock_dilation_sizes: list[Annotated[list[_Size], Field(min_length=3, max_length=3)]]
    resblock_kernel_sizes: _Sizes
    upsample_initial_channel: _Size
    upsample_kernel_sizes: _Sizes
    upsample_rates: _Sizes

    @model_validator(mode="after")
    def _fit(self) -> VocoderConfig:
        for name, one, other in (
            ("upsample_kernel_sizes", self.upsample_kernel_sizes, self.upsample_rates),
            ("resblock_dilation_sizes", self.resblock_dilation_sizes, self.resblock_kernel_sizes),
        ):
            if len(one) != len(other):
                raise ValueError(f"{name} should have {len(other)} entries and has {len(one)}")
        samples = 2 * math.prod(self.upsample_rates) * self.gen_istft_hop_size
        if samples != SAMPLES_PER_FRAME:
            raise ValueError(
                f"2 x upsample_rates x gen_istft_hop_size should be {SAMPLES_PER_FRAME} samples a frame and "
                f"is {samples}"
            )
        return self


class BertConfig(BaseModel):
    """Sizes of the text encoder, PL-BERT."""

    hidden_size: _Size
    intermediate_size: _Size
    max_position_embeddings: _Size
    num_attention_heads: _Size
    num_hidden_layers: _Size


class KokoroConfig(BaseModel):
    """Entries from which kokoro's modules are built; others are ignored."""

    dim_in: _Size
    dropout: Annotated[float, Field(strict=True, ge=0, lt=1)]
    # kokoro's code works with no other width and no other style.
    hidden_dim: Literal[512]
    style_dim: Literal[128]
    max_conv_dim: _Size
    max_dur: _Size
    n_layer: _Size
    n_mels: _Size
    n_token: _Size
    text_encoder_kernel_size: _Size
    istftnet: VocoderConfig
    plbert: BertConfig
    # 0 is the token around every utterance.
    vocab: Annotated[dict[str, _Size], Field(min_length=1)]

    @model_validator(mode="after")
    def _fit(self) -> KokoroConfig:
        for phoneme, token in self.vocab.items():
            if token >= self.n_token:
                raise ValueError(
                    f"vocab.{phoneme} should be less than n_token, {self.n_token}, and is {token}"
                )
        return self


def read_config(path: Path) -> Config:
    """Reads a ``config.json`` and checks everything that the model is built from.

    Raises:
        ConfigError: the file is unreadable or not JSON, or an entry is missing or fits no Kokoro model.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        KokoroConfig.model_validate(config)
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except ValidationError as error:
        problems = "; ".join(map(_problem, error.errors(include_url=False)))
        raise ConfigError(f"{path} is not the configuration of a Kokoro model: {problems}") from error
    except ValueError as error:
        raise ConfigError(f"the configuration {path} is not JSON: {error}") from error
    return dict(config)


def _problem(problem: Any) -> str:
    """Returns the path of a wrong entry in the file, with what is expected and what was found."""
    where = ".".join(map(str, problem["loc"]))
    message = problem["msg"].removeprefix("Value error, ")
    found = "" if problem["type"] in ("missing", "value_error") else f", found {problem['input']!r:.60}"
    return f"{where}: {message}{found}".removeprefix(": ")
