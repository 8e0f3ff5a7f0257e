"""The configuration of a Kokoro model, ``config.json``: its types and the sizes that belong together."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from exporter.errors import ConfigError
from runtime_min.format.signatures import SAMPLES_PER_FRAME

Config = dict[str, Any]

PARTS = ("bert", "bert_encoder", "predictor", "decoder", "text_encoder")
"""The model's modules, each with a state dict of its own in a checkpoint."""
OFFICIAL_CONFIG = Path(__file__).parent / "data" / "config.json"

_MOST_BYTES = 1 << 20
_MOST_PROBLEMS = 5
_LONGEST_PROBLEM = 200
# With all sizes at their bounds a model has 2.7 GB of weights, eight times the official one.
_Size = Annotated[int, Field(strict=True, ge=1, le=4096)]
_Tokens = Annotated[int, Field(strict=True, ge=1, le=1 << 16)]
_Channels = Annotated[int, Field(strict=True, ge=1, le=1024)]
_Layers = Annotated[int, Field(strict=True, ge=1, le=16)]
_Share = Annotated[float, Field(strict=True, ge=0, lt=1)]
_Kernel = Annotated[int, Field(strict=True, ge=1, le=31)]
_Kernels = Annotated[list[_Kernel], Field(min_length=1, max_length=4)]


class VocoderConfig(BaseModel):
    """Sizes of the vocoder, iSTFTNet; kokoro's constructor takes no other entries."""

    model_config = ConfigDict(extra="forbid")

    # The exporter's transform has no other sizes.
    gen_istft_hop_size: Literal[5]
    gen_istft_n_fft: Literal[20]
    resblock_dilation_sizes: list[Annotated[list[_Kernel], Field(min_length=3, max_length=3)]]
    resblock_kernel_sizes: _Kernels
    upsample_initial_channel: _Channels
    upsample_kernel_sizes: _Kernels
    upsample_rates: _Kernels

    @model_validator(mode="after")
    def _fit(self) -> VocoderConfig:
        for name, one, other in (
            ("upsample_kernel_sizes", self.upsample_kernel_sizes, self.upsample_rates),
            ("resblock_dilation_sizes", self.resblock_dilation_sizes, self.resblock_kernel_sizes),
        ):
            if len(one) != len(other):
                raise ValueError(f"{name} should have {len(other)} entries and has {len(one)}")
        if self.upsample_initial_channel % (1 << len(self.upsample_rates)):
            raise ValueError(
                "upsample_initial_channel should be a multiple of 2 to the number of upsample_rates, "
                f"and is {self.upsample_initial_channel}"
            )
        samples = 2 * math.prod(self.upsample_rates) * self.gen_istft_hop_size
        if samples != SAMPLES_PER_FRAME:
            raise ValueError(
                f"2 x upsample_rates x gen_istft_hop_size should be {SAMPLES_PER_FRAME} samples a frame and "
                f"is {samples}"
            )
        return self


class BertConfig(BaseModel):
    """Sizes of the text encoder, PL-BERT; with other entries transformers would build another model."""

    model_config = ConfigDict(extra="forbid")

    hidden_size: _Size
    intermediate_size: _Size
    max_position_embeddings: _Size
    num_attention_heads: _Size
    num_hidden_layers: _Layers
    dropout: _Share = 0.0

    @model_validator(mode="after")
    def _fit(self) -> BertConfig:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size should be a multiple of {self.num_attention_heads}, num_attention_heads, "
                f"and is {self.hidden_size}"
            )
        return self


class KokoroConfig(BaseModel):
    """Entries from which kokoro's modules are built; others are ignored."""

    dim_in: _Size
    dropout: _Share
    # kokoro's code works with no other width and no other style.
    hidden_dim: Literal[512]
    style_dim: Literal[128]
    max_conv_dim: _Size
    max_dur: _Size
    multispeaker: bool = True
    n_layer: _Layers
    n_mels: _Size
    n_token: _Tokens
    text_encoder_kernel_size: _Kernel
    istftnet: VocoderConfig
    plbert: BertConfig
    # 0 is the token around every utterance.
    vocab: Annotated[dict[Annotated[str, Field(min_length=1)], _Tokens], Field(min_length=1)]

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

    Returns:
        The entries of `KokoroConfig` that the file has.

    Raises:
        ConfigError: the file is unreadable or not JSON, or an entry is missing or fits no Kokoro model.
    """
    try:
        entries = json.loads(_read_text(path), object_pairs_hook=unique_keys)
        config = KokoroConfig.model_validate(entries)
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except ValidationError as error:
        problems = error.errors(include_url=False)
        shown = "; ".join(map(_problem, problems[:_MOST_PROBLEMS]))
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise ConfigError(f"{path} is not the configuration of a Kokoro model: {shown}{more}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the configuration {path} is not JSON: {error!s:.200}") from error
    return config.model_dump(exclude_unset=True)


def _read_text(path: Path) -> str:
    if not path.is_file() and path.exists():
        raise ValueError("it is not a regular file")
    with path.open(encoding="utf-8") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES:,} characters")
    return text


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the entries of a JSON object; of two with one key, json would silently keep the second.

    Raises:
        ValueError: two have one key.
    """
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("an object has two entries with one key")
    return entries


def _problem(problem: Any) -> str:
    """Returns the path of a wrong entry in the file, with what is expected and what was found."""
    where = ".".join(map(str, problem["loc"]))
    message = problem["msg"].removeprefix("Value error, ")
    found = "" if problem["type"] in ("missing", "value_error") else f", found {problem['input']!r:.60}"
    text = f"{where}: {message}{found}".removeprefix(": ")[:_LONGEST_PROBLEM]
    # A vocabulary may contain any character, and a terminal takes some for commands.
    return text if text.isprintable() else ascii(text)
