"""A bundle in place of the ONNX model, for kokoro-onnx."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..bundle import Bundle
from ..errors import TensorInputError
from ..output.writer import write_file
from .spoken_tokens import speak_tokens


class OnnxSession:
    """A session for `kokoro_onnx.Kokoro.from_session`, instead of an `onnxruntime.InferenceSession`.

    Inputs: ``tokens``, or ``input_ids``, int64 ``[1, tokens]`` with a 0 at both ends, ``style`` float32
    ``[1, 256]``, ``speed`` float32 ``[1]``. Outputs: ``waveform`` float32 ``[samples]``, ``duration`` int64
    ``[tokens]``, in frames.
    """

    def __init__(self, bundle: Bundle, seed: int = 0) -> None:
        """Takes the bundle that speaks and the seed of its noise."""
        self._bundle = bundle
        self._seed = seed
        self._model_path = str(bundle.directory)

    def get_inputs(self) -> list[SimpleNamespace]:
        """Returns names and types of the inputs."""
        # Given input_ids instead of tokens, kokoro-onnx 0.4.5 to 0.5 cut the speed to an integer.
        return _nodes(tokens="tensor(int64)", style="tensor(float)", speed="tensor(float)")

    def get_outputs(self) -> list[SimpleNamespace]:
        """Returns names and types of the outputs."""
        return _nodes(waveform="tensor(float)", duration="tensor(int64)")

    def get_modelmeta(self) -> SimpleNamespace:
        """Returns the vocabulary, where kokoro-onnx looks for it."""
        config = json.dumps({"vocab": dict(self._bundle.manifest.vocabulary)})
        return SimpleNamespace(custom_metadata_map={"kokoro_config": config})

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: object = None
    ) -> list[Any]:
        """Speaks the tokens and returns the outputs named, or all.

        Raises:
            InputError: the request cannot be synthesised.
        """
        try:
            tokens = np.asarray(input_feed.get("tokens", input_feed.get("input_ids")), np.int64)
            style = np.asarray(input_feed["style"], np.float32)
            speed = float(np.asarray(input_feed["speed"]).ravel().item())
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise TensorInputError(
                f"Expected the inputs tokens, style and speed as numbers, found another: {error}."
            ) from None
        known = [node.name for node in self.get_outputs()]
        names = output_names or known
        if unknown := sorted(set(names) - set(known)):
            raise TensorInputError(f"Expected output names among {known}, found {unknown}.")
        waveform, duration = speak_tokens(self._bundle, tokens, style, speed, self._seed)
        return [waveform if name == "waveform" else duration for name in names]


def _nodes(**types: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(name=name, type=kind) for name, kind in types.items()]


def save_voices(bundle: Bundle, path: str | os.PathLike[str]) -> None:
    """Writes the bundle's voices as the archive that kokoro-onnx reads, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    content = io.BytesIO()
    packs = {name: table[:, None] for name, table in bundle.voice_tables.items()}
    np.savez(content, allow_pickle=False, **packs)
    write_file(Path(path), content.getvalue())
