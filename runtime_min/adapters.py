"""Adapters that put a bundle in place of kokoro's or kokoro-onnx's model, in apps written for these.

    pipeline = KPipeline("e", model=False)                       # kokoro 0.9
    model = KokoroModel(bundle)
    pipeline.voices |= model.voices()                            # by name, without a download
    for result in pipeline("¡Hola!", voice="ef_dora", model=model): ...

    save_voices(bundle, "voices.npz")                            # kokoro-onnx 0.6
    speech = Kokoro.from_session(OnnxSession(bundle), "voices.npz")

Neither package is imported here, nor torch before a `KokoroModel` speaks.
"""

from __future__ import annotations

import io
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bundle import Bundle
from .errors import TensorInputError
from .model.tokens import BOUNDARY
from .output.writer import write_file

_log = logging.getLogger(__name__)


class KokoroModel:
    """A ``model=`` for `kokoro.KPipeline`, instead of a `kokoro.KModel`."""

    device = "cpu"

    def __init__(self, bundle: Bundle, seed: int = 0) -> None:
        """Takes the bundle that speaks and the seed of its noise."""
        self.bundle = bundle
        self.vocab = bundle.manifest.vocabulary
        self._seed = seed

    def voices(self) -> dict[str, Any]:
        """Returns the bundle's voices as torch tensors ``[510, 1, 256]``, for `KPipeline.voices`."""
        import torch

        tables = self.bundle.voice_tables
        return {name: torch.from_numpy(table[:, None].copy()) for name, table in tables.items()}

    def __call__(self, phonemes: str, ref_s: Any, speed: float = 1, return_output: bool = False) -> Any:
        """Synthesises as `KModel.forward` does.

        Args:
            phonemes: the phonemes to speak; unknown ones are left out as by kokoro, but with a warning.
            ref_s: a row of a voice, tensor ``[1, 256]``.
            speed: from 0.25 to 4.
            return_output: return an object with `audio` and `pred_dur` instead of the samples.

        Raises:
            InputError: the request cannot be synthesised.
        """
        import torch

        known = "".join(phoneme for phoneme in phonemes if phoneme in self.vocab)
        if unknown := sorted(set(phonemes) - set(known)):
            _log.warning("left out what the vocabulary lacks: %s", " ".join(map(repr, unknown)))
        audio = self.bundle.synthesize(known, ref_s.numpy(), speed, self._seed)
        samples = torch.from_numpy(audio.samples)
        if not return_output:
            return samples
        return SimpleNamespace(audio=samples, pred_dur=torch.from_numpy(audio.durations))


class OnnxSession:
    """A session for `kokoro_onnx.Kokoro.from_session`, instead of an `onnxruntime.InferenceSession`.

    Inputs: ``input_ids`` int64 ``[1, tokens]`` with a 0 at both ends, ``style`` float32 ``[1, 256]``,
    ``speed`` float32 ``[1]``. Outputs: ``waveform`` float32 ``[samples]``, ``duration`` int64 ``[tokens]``,
    in frames.
    """

    def __init__(self, bundle: Bundle, seed: int = 0) -> None:
        """Takes the bundle that speaks and the seed of its noise."""
        self._bundle = bundle
        self._seed = seed
        self._phonemes = {token: phoneme for phoneme, token in bundle.manifest.vocabulary.items()}
        self._model_path = str(bundle.directory)

    def get_inputs(self) -> list[SimpleNamespace]:
        """Returns names and types of the inputs."""
        return _nodes(input_ids="tensor(int64)", style="tensor(float)", speed="tensor(float)")

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
            tokens = np.asarray(input_feed["input_ids"]).ravel()
            style = np.asarray(input_feed["style"], np.float32).ravel()
            speed = float(np.asarray(input_feed["speed"]).ravel().item())
        except (KeyError, TypeError, ValueError) as error:
            raise TensorInputError(
                f"Expected the inputs input_ids, style and speed as numbers, found another: {error}."
            ) from None
        audio = self._bundle.synthesize(self._text(tokens), style, speed, self._seed)
        outputs = {"waveform": audio.samples, "duration": audio.durations}
        return [outputs[name] for name in output_names or outputs]

    def _text(self, tokens: NDArray[Any]) -> str:
        inner = tokens.tolist()[1:-1]
        unknown = sorted({token for token in inner if token not in self._phonemes})
        if unknown or len(tokens) < 3 or tokens[0] != BOUNDARY or tokens[-1] != BOUNDARY:
            raise TensorInputError(
                f"Expected input_ids with a {BOUNDARY} at both ends and tokens of the vocabulary between, "
                f"found {len(tokens)} tokens, unknown among them: {unknown}."
            )
        return "".join(self._phonemes[token] for token in inner)


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
