"""A tiny model with the parts and the kinds of layers of kokoro's, and the ONNX files that are made of it."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import torch
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16
from torch import Tensor, nn
from torch.nn.utils import weight_norm

from exporter.compiler.kokoro_model import make_weights_plain

WIDTH = 8
TOKENS = 12


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(TOKENS, WIDTH)
        self.position_embeddings = nn.Embedding(16, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1])[None]
        found: Tensor = self.LayerNorm(self.word_embeddings(tokens) + self.position_embeddings(positions))
        return found


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.ffn = nn.Linear(WIDTH, 2 * WIDTH)
        self.ffn_output = nn.Linear(2 * WIDTH, WIDTH)
        self.full_layer_layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        inner = nn.functional.gelu(self.ffn(self.query(x)), approximate="tanh")
        found: Tensor = self.full_layer_layer_norm(self.ffn_output(inner) + x)
        return found


class Layers(nn.Module):
    """Calls its only layer three times."""

    def __init__(self) -> None:
        super().__init__()
        self.albert_layers = nn.ModuleList([Layer()])

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.albert_layers[0](x)
        return x


class Albert(nn.Module):
    """Never calls its pooler."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = Layers()
        self.pooler = nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens: Tensor) -> Tensor:
        found: Tensor = self.encoder(self.embeddings(tokens))
        return found


class Recurrent(nn.Module):
    """Two recurrent layers with a style in between, as in kokoro's duration encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.lstms = nn.ModuleList([bidirectional(), nn.Linear(4, 2 * WIDTH), bidirectional()])

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        scale, shift = self.lstms[1](style)[:, None].chunk(2, dim=2)
        found: Tensor = self.lstms[2](self.lstms[0](x)[0] * scale + shift)[0]
        return found


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = normed(nn.Conv1d(WIDTH, WIDTH, 3, padding=1))
        self.pool = normed(nn.ConvTranspose1d(WIDTH, WIDTH, 3, 2, 1, 1, groups=WIDTH))
        self.norm = nn.InstanceNorm1d(WIDTH, affine=True)
        self.alpha1 = nn.ParameterList([torch.rand(1, WIDTH, 1) + 0.5])

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.pool(self.conv1(x)))
        found: Tensor = x + torch.sin(self.alpha1[0] * x) ** 2 / self.alpha1[0]
        return found


class Predictor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.text_encoder = Recurrent()
        self.lstm = bidirectional()
        self.F0 = nn.ModuleList([Block(), Block()])
        self.F0_proj = nn.Conv1d(WIDTH, 1, 1)


class LayerNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.rand(WIDTH)), nn.Parameter(torch.rand(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x.transpose(1, 2), (WIDTH,), self.gamma, self.beta).transpose(1, 2)


class TextEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        layers = nn.Sequential(normed(nn.Conv1d(WIDTH, WIDTH, 5, padding=2)), LayerNorm(), nn.LeakyReLU(0.2))
        self.cnn = nn.ModuleList([layers])
        self.lstm = bidirectional()

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens).transpose(1, 2).masked_fill(tokens[:, None] < 0, 0.0)
        found: Tensor = self.lstm(self.cnn[0](x).transpose(1, 2))[0]
        return found


class TinyKokoro(nn.Module):
    """Has the names of kokoro's parts, and calls its predictor's modules one by one, as kokoro does."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.bert = Albert()
            self.bert_encoder = nn.Linear(WIDTH, WIDTH)
            self.predictor = Predictor()
            self.decoder = nn.Sequential(Block(), normed(nn.ConvTranspose1d(WIDTH, 4, 4, 2, 1)))
            self.text_encoder = TextEncoder()
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -1, 1)
        for module in self.modules():
            if hasattr(module, "weight_v"):
                module.weight = module.weight.detach()  # Or it cannot be copied.
        self.eval().requires_grad_(False)

    def encode(self, tokens: Tensor, style: Tensor) -> Tensor:
        x = self.bert_encoder(self.bert(tokens))
        x = self.predictor.lstm(self.predictor.text_encoder(x, style))[0].transpose(1, 2)
        for block in self.predictor.F0:
            x = block(x)
        found: Tensor = x * torch.sigmoid(self.predictor.F0_proj(x)) + self.text_encoder(tokens).mean()
        return found


class AsKokoro(nn.Module):
    """The wrapper of kokoro's own export: the model's method is called, so its name is in no node's."""

    def __init__(self, kmodel: TinyKokoro) -> None:
        super().__init__()
        self.kmodel = kmodel

    def forward(self, tokens: Tensor, style: Tensor) -> Tensor:
        found: Tensor = self.kmodel.decoder(self.kmodel.encode(tokens, style))
        return found


class Encoder(nn.Module):
    def __init__(self, model: TinyKokoro) -> None:
        super().__init__()
        self.bert, self.bert_encoder, self.predictor = model.bert, model.bert_encoder, model.predictor
        self.text_encoder = model.text_encoder

    def forward(self, tokens: Tensor, style: Tensor) -> Tensor:
        return TinyKokoro.encode(self, tokens, style)  # type: ignore[arg-type]


class Decoder(nn.Module):
    def __init__(self, model: TinyKokoro) -> None:
        super().__init__()
        self.decoder = model.decoder

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.decoder(x)
        return found


class AsKokoroOnnx(nn.Module):
    """The wrapper of kokoro-onnx's releases, whose two halves are in the names of all nodes."""

    def __init__(self, model: TinyKokoro) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(model), Decoder(model)

    def forward(self, tokens: Tensor, style: Tensor) -> Tensor:
        found: Tensor = self.decoder(self.encoder(tokens, style))
        return found


def bidirectional() -> nn.LSTM:
    return nn.LSTM(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)


def normed(module: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return weight_norm(module)


def export(
    model: TinyKokoro, path: Path, wrapper: Callable[[Any], nn.Module] = AsKokoro, **options: Any
) -> Path:
    """Writes the ONNX file of a model in float32."""
    example = torch.arange(6)[None], torch.zeros(1, 4)
    with torch.no_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            wrapper(model).eval(), example, str(path), input_names=["input_ids", "style"],
            dynamic_axes={"input_ids": {1: "tokens"}}, opset_version=17, dynamo=False, **options,
        )  # fmt: skip
    return path


def in_float16(path: Path) -> Path:
    """Writes the same model in float16."""
    made = path.with_suffix(".fp16.onnx")
    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), made)
    return made


def quantised(path: Path, unsigned: bool = False, **options: Any) -> Path:
    """Writes the same model after ONNX Runtime's dynamic quantisation."""
    made = path.with_suffix(".int8.onnx")
    kind = QuantType.QUInt8 if unsigned else QuantType.QInt8
    logging.disable(logging.WARNING)
    try:
        quantize_dynamic(path, made, weight_type=kind, **options)
    finally:
        logging.disable(logging.NOTSET)
    return made


def optimised(path: Path, level: str = "ORT_ENABLE_EXTENDED") -> Path:
    """Writes the graph that ONNX Runtime computes with."""
    made = path.with_suffix(".optimised.onnx")
    options = SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(made)
    InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return made


def plain_state(model: TinyKokoro) -> dict[str, Tensor]:
    """Returns the model's tensors by name, with weight_norm applied."""
    from copy import deepcopy

    plain = deepcopy(model)
    make_weights_plain(plain)
    return dict(plain.state_dict())
