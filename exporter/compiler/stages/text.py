"""The stages along tokens: `bert`, `duration` and `text_encoder`. In shapes, n is the number of tokens."""

from typing import Any

import torch
from torch import Tensor, nn

from exporter.compiler import operators
from exporter.compiler.stages.layers import BidirectionalLstm, Conv, parameter


class Bert(nn.Module):
    """ALBERT and kokoro's `bert_encoder`: token_ids [1, n] to hidden [1, 512, n].

    ALBERT is HuggingFace's `AlbertModel` without dropout: one layer shared by all depths, post-norm,
    tanh-GELU. Every token is valid, so there is no attention mask.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        bert = model.bert
        config, embeddings = bert.config, bert.embeddings
        if config.num_hidden_groups != 1 or config.inner_group_num != 1 or config.hidden_act != "gelu_new":
            raise ValueError("only ALBERT with one shared layer and gelu_new is supported")
        layer = bert.encoder.albert_layer_groups[0].albert_layers[0]
        attention = layer.attention
        # Every token has type 0, whose row is the same for all words.
        self.words = parameter(
            embeddings.word_embeddings.weight + embeddings.token_type_embeddings.weight[:1]
        )
        self.positions = parameter(embeddings.position_embeddings.weight)
        norm, epsilon = embeddings.LayerNorm, config.layer_norm_eps
        self.embedding_norm = LayerNorm(norm.weight, norm.bias, epsilon)
        self.widen = Conv.of(bert.encoder.embedding_hidden_mapping_in)
        query, key, value = attention.query, attention.key, attention.value
        self.project = Conv(
            torch.cat([query.weight, key.weight, value.weight])[:, :, None],
            torch.cat([query.bias, key.bias, value.bias]),
        )
        self.attention_out = Conv.of(attention.dense)
        norm = attention.LayerNorm
        self.attention_norm = LayerNorm(norm.weight, norm.bias, epsilon)
        self.feed_in, self.feed_out = Conv.of(layer.ffn), Conv.of(layer.ffn_output)
        norm = layer.full_layer_layer_norm
        self.layer_norm = LayerNorm(norm.weight, norm.bias, epsilon)
        self.encoder = Conv.of(model.bert_encoder)
        self.heads, self.depth = int(config.num_attention_heads), int(config.num_hidden_layers)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Maps token_ids int64 [1, n] to hidden float32 [1, 512, n]."""
        x = self.widen(self.embedding_norm(operators.token_embedding(token_ids, self.words, self.positions)))
        for _ in range(self.depth):
            context = operators.self_attention(self.project(x), self.heads)
            x = self.attention_norm(self.attention_out(context, residual=x))
            x = self.layer_norm(self.feed_out(self.feed_in(x, gelu=True), residual=x))
        result: Tensor = self.encoder(x)
        return result


class LayerNorm(nn.Module):
    """Layer norm over channels, then leaky_relu where `slope` is given."""

    def __init__(self, weight: Tensor, bias: Tensor, epsilon: float, slope: float | None = None) -> None:
        super().__init__()
        self.weight, self.bias = parameter(weight), parameter(bias)
        self.epsilon, self.slope = float(epsilon), slope

    def forward(self, x: Tensor) -> Tensor:
        """Maps [1, channels, n] to the same shape."""
        return operators.channel_norm(x, self.weight, self.bias, self.epsilon, self.slope)


class AdaptiveLayerNorm(nn.Module):
    """kokoro's `AdaLayerNorm`."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.fc = Conv.of(module.fc)
        self.epsilon = float(module.eps)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Maps [1, channels, n] and [1, style] to [1, channels, n]."""
        condition = self.fc(style[:, :, None]).squeeze(2)
        return operators.adaptive_channel_norm(x, condition, self.epsilon)


class Duration(nn.Module):
    """Duration encoder and predictor: hidden [1, 512, n], style to encoding [1, 640, n], durations [1, n]."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        predictor = model.predictor
        blocks = list(predictor.text_encoder.lstms)
        self.lstms = nn.ModuleList(BidirectionalLstm(block) for block in blocks[::2])
        self.norms = nn.ModuleList(AdaptiveLayerNorm(block) for block in blocks[1::2])
        self.lstm = BidirectionalLstm(predictor.lstm)
        self.project = Conv.of(predictor.duration_proj.linear_layer)
        self.bins = int(predictor.duration_proj.linear_layer.out_features)

    def forward(self, hidden: Tensor, prosody_style: Tensor) -> tuple[Tensor, Tensor]:
        """Durations are in frames at speed 1, before rounding: the sum of the sigmoids of 50 bins."""
        styles = prosody_style[:, :, None].expand(-1, -1, hidden.shape[2])
        x = torch.cat([hidden, styles], dim=1)
        for lstm, norm in zip(self.lstms, self.norms, strict=True):
            x = torch.cat([norm(lstm(x), prosody_style), styles], dim=1)
        logits = self.project(self.lstm(x))[:, : self.bins]
        return x, torch.sigmoid(logits).sum(dim=1)


class TextEncoder(nn.Module):
    """kokoro's `TextEncoder`: token_ids [1, n] to text [1, 512, n]."""

    SLOPE = 0.2

    def __init__(self, model: Any) -> None:
        super().__init__()
        encoder = model.text_encoder
        self.table = parameter(encoder.embedding.weight)
        self.convs = nn.ModuleList(Conv.of(block[0]) for block in encoder.cnn)
        self.norms = nn.ModuleList(
            LayerNorm(block[1].gamma, block[1].beta, block[1].eps, self.SLOPE) for block in encoder.cnn
        )
        self.lstm = BidirectionalLstm(encoder.lstm)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Maps token_ids int64 [1, n] to text float32 [1, 512, n]."""
        x = operators.token_embedding(token_ids, self.table)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x))
        result: Tensor = self.lstm(x)
        return result
