"""One utterance, from phonemes to samples, with the stages of a loaded bundle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.stage_runner import StageRunner
from ..errors import ModelOutputError
from .chain import Choices, Trace, run_chain
from .tokens import tokenise
from .voices import Style


class Utterance(NamedTuple):
    """Checked input that the model takes at once; `speech.request` makes it."""

    phonemes: str
    style: Style
    speed: float
    seed: int


class Synthesiser:
    """Computes utterances; it may outlive the `Bundle` that made it."""

    def __init__(self, stages: Mapping[str, StageRunner], vocabulary: Mapping[str, int]) -> None:
        """Takes a runner for every stage, and the token number of each phoneme."""
        self._stages = stages
        self._vocabulary = vocabulary

    def trace(self, utterance: Utterance, choices: Choices) -> Trace:
        """Returns every tensor of an utterance, finite or not; raises as `run_chain` does."""
        phonemes, style, speed, seed = utterance
        return run_chain(self._stages, tokenise(phonemes, self._vocabulary), style, speed, seed, choices)

    def synthesise(self, utterance: Utterance) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Returns the samples ``[600 * frames]`` and the frames of each token ``[tokens]``.

        Raises:
            UtteranceTooLongError: the durations exceed the largest bucket.
            ModelOutputError: the durations or samples are not finite.
        """
        trace = self.trace(utterance, Choices())
        audio, durations = trace.audio[0], trace.durations
        # Copies come after the memory of all else is free.
        del trace
        if not np.isfinite(audio).all():
            raise ModelOutputError(
                "The stage 'decoder' computed samples that are not finite: expected numbers. "
                "The weights are damaged or the libraries wrong; verify the bundle or export it again."
            )
        # A copy, so that the samples do not keep TVM's memory.
        return audio.copy(), durations
