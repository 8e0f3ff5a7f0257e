"""Packs g2pM's network for `runtime_min.text.polyphones`."""

from __future__ import annotations

import pickle
import re
import zlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime_min.text.polyphones import (
    CELL_SHIFT,
    CELLS,
    HEADER,
    INPUT_SHIFT,
    MAGIC,
    STATE_SHIFT,
    STATES,
    UNIT,
)
from training.pinyin import phonemes

_HAN = re.compile("[\u4e00-\u9fff]+")
_MARKERS = ("<UNK>", "시", "끝")
"""g2pM's names of an unknown character and of both ends."""
_HIDDEN_BITS = 6
"""Bits of a hidden unit of 1."""
_RANGE = 8.0
"""The tables hold sigmoid and tanh from minus to plus this."""
Weights = Mapping[str, NDArray[np.float64]]


def pack() -> bytes:
    """Returns the file's content."""
    weights, rows_of, classes, readings = map(_load, ("np_ckpt", "char2idx", "class2idx", "digest_cedict"))
    known = sorted(each for each in rows_of if _HAN.fullmatch(each))
    own = {each: _classes(each, readings.get(each, ()), classes) for each in known}
    used = [number for each in known for number in own[each]]
    said = {number: spoken(name) for name, number in classes.items()}
    names = sorted({said[number] for number in used})
    rows = [rows_of[each] for each in (*_MARKERS, *known)]
    embeddings, per_unit = _bytes(weights["embedding.weight"][rows])
    directions = [_direction(weights, suffix, per_unit) for suffix in ("", "_reverse")]
    half = max(each["half"] for each in directions)
    hidden, hidden_bias, scores, scores_bias, shift = _layers(weights, [each["state"] for each in directions])
    codes = np.array([ord(each) for each in known])
    parts = [
        np.diff(codes, prepend=0).astype("<u2"),
        np.array([len(own[each]) for each in known], "u1"),
        np.array([names.index(said[number]) for number in used], "<u2"),
        embeddings, *(each["input"] for each in directions), *(each["recurrent"] for each in directions),
        *(each["bias"] for each in directions), *(_gate_tables(each["unit"], half) for each in directions),
        *(each["cells"] for each in directions), hidden, hidden_bias, scores[used], scores_bias[used],
    ]  # fmt: skip
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    content = b"".join(part.tobytes() for part in parts) + "\n".join(names).encode()
    header = HEADER.pack(MAGIC, len(known), len(used), len(names), half, shift)
    return header + packer.compress(content) + packer.flush()


def characters() -> frozenset[str]:
    """Returns the characters between whose readings the network decides."""
    known, classes, readings = map(_load, ("char2idx", "class2idx", "digest_cedict"))
    return frozenset(
        each for each in known if _HAN.fullmatch(each) and _classes(each, readings.get(each, ()), classes)
    )


def _load(name: str) -> Any:
    spec = find_spec("g2pM")
    assert spec is not None and spec.origin is not None
    return pickle.loads((Path(spec.origin).parent / f"{name}.pkl").read_bytes())


def _classes(character: str, readings: list[str], classes: Mapping[str, int]) -> list[int]:
    """Returns the classes of a character's readings; none if it has one reading."""
    known = [classes[each] for each in readings if each in classes and spoken(each)]
    return known if len({spoken(each) for each in readings}) > 1 and len(known) > 1 else []


def spoken(pinyin: str) -> str:
    """Returns the phonemes of g2pM's Pinyin; none of a syllable that Kokoro's phonemes lack."""
    try:
        return phonemes(pinyin.replace("u:", "v"))
    except KeyError:
        return ""


def _bytes(values: NDArray[Any]) -> tuple[NDArray[np.int8], float]:
    """Returns values as integers of 8 bits, and how many of them make 1."""
    per_unit = 127 / float(np.abs(values).max())
    return np.rint(values * per_unit).astype(np.int8), per_unit


def _direction(weights: Weights, suffix: str, per_unit: float) -> dict[str, Any]:
    """Returns the parts of an LSTM; `unit` is 1 in a gate's input, `state` in a state."""
    from_input, input_unit = _bytes(weights[f"lstm.weight_ih_l0{suffix}"])
    recurrent, recurrent_unit = _bytes(weights[f"lstm.weight_hh_l0{suffix}"])
    unit = per_unit * input_unit
    state = unit / recurrent_unit * 2**STATE_SHIFT
    bias = weights[f"lstm.bias_ih_l0{suffix}"] + weights[f"lstm.bias_hh_l0{suffix}"]
    cells = _middles(CELLS) * 2**CELL_SHIFT / 2**UNIT
    return {
        "input": from_input,
        "recurrent": recurrent,
        "bias": np.rint(bias * unit).astype("<i4"),
        "cells": np.rint(state * np.tanh(cells)).astype("<i2"),
        "half": int(np.ceil(_RANGE * unit / 2**INPUT_SHIFT)),
        "unit": unit,
        "state": state,
    }


def _gate_tables(unit: float, half: int) -> NDArray[np.int16]:
    inputs = _middles(half) * 2**INPUT_SHIFT / unit
    return np.rint(np.stack([1 / (1 + np.exp(-inputs)), np.tanh(inputs)]) * 2**UNIT).astype("<i2")


def _middles(half: int) -> NDArray[np.float64]:
    return np.arange(-half, half) + 0.5


def _layers(weights: Weights, states: list[float]) -> tuple[Any, Any, Any, Any, int]:
    """Returns the weights and biases of both layers, and the bits that the hidden units are shifted by."""
    units = np.repeat(states, STATES)
    hidden, per_unit = _bytes(weights["logit_layer.0.weight"] / units * min(states))
    unit = per_unit * min(states)
    shift = int(np.log2(unit)) - _HIDDEN_BITS
    scores, score_unit = _bytes(weights["logit_layer.2.weight"])
    hidden_bias = np.rint(weights["logit_layer.0.bias"] * unit).astype("<i4")
    scores_bias = np.rint(weights["logit_layer.2.bias"] * score_unit * unit / 2**shift).astype("<i4")
    return hidden, hidden_bias, scores, scores_bias, shift
