"""kokoro's own ONNX export: `KModelForONNX` without complex numbers, opset 17, any number of tokens.

The settings are those of kokoro's examples/export.py; kokoro is exported by torch's TorchScript exporter.
ONNX Runtime's dynamic quantisation turns this file into the int8 file, as in kokoro-onnx's own int8 file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_EXAMPLE_TOKENS = 50
_STYLE = 256


def export_onnx(checkpoint: Path, config: Path, output: Path) -> None:
    """Writes the file `output`, whole or not at all."""
    import torch
    from kokoro.model import KModel, KModelForONNX

    model = KModel(
        repo_id="hexgrad/Kokoro-82M", config=str(config), model=str(checkpoint), disable_complex=True
    )
    token_ids = torch.arange(_EXAMPLE_TOKENS)[None] % 100
    token_ids[:, -1] = 0
    staging = f"{output}.part"
    with torch.no_grad():
        torch.onnx.export(
            KModelForONNX(model).eval(),
            (token_ids, torch.zeros(1, _STYLE), torch.ones(1, dtype=torch.int)),
            staging,
            input_names=["input_ids", "style", "speed"],
            output_names=["waveform", "duration"],
            dynamic_axes={"input_ids": {1: "tokens"}, "waveform": {0: "samples"}, "duration": {0: "tokens"}},
            opset_version=17,
            do_constant_folding=True,
            dynamo=False,
        )
    os.replace(staging, output)


def quantise(onnx: Path, output: Path) -> None:
    """Writes the file `output` with the weights of `onnx` in 8 bits."""
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(onnx, output)


def take_float_speed(onnx: Path, output: Path, facts: Mapping[str, object] | None = None) -> None:
    """Writes `onnx` as other programs want it: with a speed of float32, and metadata."""
    import onnx as onnx_format

    model = onnx_format.load(onnx)
    (speed,) = (each for each in model.graph.input if each.name == "speed")
    # Its one reader is a cast.
    speed.type.tensor_type.elem_type = onnx_format.TensorProto.FLOAT
    onnx_format.helper.set_model_props(model, {name: str(value) for name, value in (facts or {}).items()})
    onnx_format.save(model, output)
