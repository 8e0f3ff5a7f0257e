"""One utterance, from phonemes to samples, with the stages of a loaded bundle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.stage_runner import StageRunner
from ..engine.vm import aligned_memory
from ..errors import ModelOutputError
from ..format.signatures import SAMPLES_PER_FRAME, SOURCE
from .chain import STYLE, Choices, Trace, decode, predict, run_chain, run_stage
from .noise import gaussian_noise
from .statistics import Statistics
from .tokens import tokenise
from .voices import Style


class Utterance(NamedTuple):
    """Checked input that the model takes at once; `speech.request` makes it."""

    phonemes: str
    style: Style
    speed: float
    seed: int
    fitted: bool = False
    """The length is that of speed 1 over the speed, and not what kokoro makes of the speed."""
    statistics: Statistics | None = None
    """Those of the voice, with which parts are decoded; None takes those of each part."""


class Prepared(NamedTuple):
    """An utterance before the decoder."""

    durations: NDArray[np.int64]
    """``[tokens]``, frames of each token."""
    curves: Mapping[str, NDArray[np.float32]]
    """The decoder's inputs but for the noise, such as `energy`, ``[1, 2 * frames]``."""
    noise: NDArray[np.float32]
    """``[1, 600 * frames]``."""
    statistics: Statistics | None = None
    """Those of the utterance's voice."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Frame at which each token begins, and the end of the last, ``[tokens + 1]``."""
        return np.concatenate([[0], np.cumsum(self.durations)])


class Synthesiser:
    """Computes utterances; it may outlive the `Bundle` that made it."""

    def __init__(self, stages: Mapping[str, StageRunner], vocabulary: Mapping[str, int]) -> None:
        """Takes a runner for every stage, and the token number of each phoneme."""
        self._stages = stages
        self._vocabulary = vocabulary

    def trace(self, utterance: Utterance, choices: Choices) -> Trace:
        """Returns every tensor of an utterance at kokoro's speed, finite or not; raises as `run_chain`."""
        phonemes, style, speed, seed, *_ = utterance
        return run_chain(self._stages, tokenise(phonemes, self._vocabulary), style, speed, seed, choices)

    def prepare(self, utterance: Utterance) -> Prepared:
        """Runs all stages before the decoder, which takes four fifths of the time.

        Raises:
            UtteranceTooLongError: the durations exceed the largest bucket.
            ModelOutputError: the durations are not finite.
        """
        phonemes, style, speed, seed, fitted, statistics = utterance
        tokens = tokenise(phonemes, self._vocabulary)
        run = partial(run_stage, self._stages, {}, {})
        found = predict(self._stages, run, tokens, style, speed, fitted=fitted)
        noise = gaussian_noise(seed, SAMPLES_PER_FRAME * found.asr.shape[2])[None]
        return Prepared(found.durations, found.curves(style), noise, statistics)

    def decode(self, prepared: Prepared, start: int, end: int) -> NDArray[np.float32]:
        """Returns the samples ``[600 * (end - start)]`` of the frames from `start` to before `end`.

        The decoder knows nothing of the other frames, but for the statistics that it may be given. All frames
        together give the samples of kokoro without them.

        Raises:
            ModelOutputError: the samples are not finite.
        """
        frames = len(prepared.noise[0]) // SAMPLES_PER_FRAME
        curves = {
            name: curve if name == STYLE else _between(curve, start, end, frames)
            for name, curve in prepared.curves.items()
        }
        noise = _between(prepared.noise, start, end, frames)
        audio: NDArray[np.float32]
        run = partial(run_stage, self._stages, {}, prepared.statistics or {})
        (audio,) = decode(run, curves, noise, separate_source=SOURCE in self._stages)[0]
        if not np.isfinite(audio).all():
            raise ModelOutputError(
                "The stage 'decoder' computed samples that are not finite: expected numbers. "
                "The weights are damaged or the libraries wrong; verify the bundle or export it again."
            )
        # A copy, so that the samples do not keep TVM's memory.
        return audio.copy()


def _between(values: NDArray[np.float32], start: int, end: int, frames: int) -> NDArray[np.float32]:
    """Returns the part of some frames, where compiled code can read it without a copy."""
    scale = values.shape[-1] // frames
    if end - start == frames:
        return values
    part = values[..., scale * start : scale * end]
    memory: NDArray[np.float32] = aligned_memory(part.shape, part.dtype)
    np.copyto(memory, part)
    return memory
