"""Answers of kokoro, and comparisons with them, that are made up."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from exporter.parity.expected import Expected
from exporter.parity.figures import Comparison
from exporter.reference.traces import ModelInput, TextTrace
from exporter.reference.utterances import Utterance
from runtime_min.model.distances import Figure

SAID = Utterance("abc", "af_heart", seed=7)
_TEXT = tuple(field.name for field in fields(TextTrace))


def request_of(utterance: Utterance, **changes: Any) -> ModelInput:
    """Kokoro's request for an utterance, with the letters' codes as token ids."""
    token_ids = np.array([0, *map(ord, utterance.phonemes), 0], np.int64)
    row = np.full((1, 256), len(utterance.voice), np.float32)
    return replace(ModelInput(token_ids, row, utterance.speed, utterance.seed), **changes)


def answer_of(utterance: Utterance, **values: Any) -> Expected:
    """An answer with these values, and empty ones otherwise."""
    empty = np.zeros((1, 0), np.float32)
    made: dict[str, Any] = {field.name: empty for field in fields(Expected)}
    made |= {
        "request": request_of(utterance),
        "exact_text": TextTrace(*[empty] * len(_TEXT)),
        "other_seed": 0.2,
        "changes": (),
    }
    return Expected(**made | values)


def waveform(value: float = 40.0, name: str = "v4", said: Utterance = SAID) -> Comparison:
    """A comparison of waveforms whose chain has `value` dB."""
    figures = (
        Figure("samples are numbers", 1, 1, at_least=True),
        Figure("durations that differ", 0, 0),
        Figure("durations rounded the other way", 0, 0),
        Figure("chain, dB", value, 30, at_least=True),
        Figure("level, dB off", 0.01, 0.1),
    )
    return Comparison(said, 80, figures, 3, name)
