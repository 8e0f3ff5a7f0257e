"""Runs an utterance through the stages: tokens, durations, alignment, noise, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.stage_runner import StageRunner
from ..errors import TensorInputError, UtteranceTooLongError, check_type
from ..format.signatures import FRAMES_PER_SECOND, SAMPLES_PER_FRAME, SOURCE
from .alignment import align, fitted_speed, round_durations
from .noise import gaussian_noise
from .voices import Style

STYLE = "decoder_style"
"""The decoder's one input that does not grow with the utterance."""
Floats = NDArray[np.float32]
Run = Callable[..., list[Floats]]
"""A function that takes a stage's name and its inputs by name, and returns its outputs in order."""


class Trace(NamedTuple):
    """Every tensor of one utterance, in the order in which they are computed."""

    token_ids: NDArray[np.int64]
    """Tokens with the boundary token 0 at both ends, ``[1, tokens]``."""
    style: Style
    hidden: Floats
    """Output of `bert`, ``[1, hidden, tokens]``."""
    encoding: Floats
    """Output of `duration`, ``[1, hidden + style, tokens]``."""
    predicted_durations: Floats
    """Output of `duration`, ``[1, tokens]``: frames of each token at speed 1, not rounded."""
    durations: NDArray[np.int64]
    """Frames of each token, ``[tokens]``; a frame is 25 ms."""
    text: Floats
    """Output of `text_encoder`, ``[1, hidden, tokens]``."""
    asr: Floats
    """`text` with each token's column repeated for its frames, ``[1, hidden, frames]``."""
    f0: Floats
    """Fundamental frequency in Hz, output of `f0n`, ``[1, 2 * frames]``."""
    energy: Floats
    """Energy (N), output of `f0n`, ``[1, 2 * frames]``."""
    noise: Floats
    """Gaussian noise of the harmonic source, one number a sample, ``[1, 600 * frames]``."""
    audio: Floats
    """Samples at 24,000 Hz, output of `decoder`, ``[1, 600 * frames]``."""
    spectrum: Floats | None = None
    """Output of `source`, if that is a separate stage, ``[1, 22, 120 * frames + 1]``."""

    @property
    def aligned_encoding(self) -> Floats:
        """`encoding` aligned, ``[1, hidden + style, frames]``."""
        return align(self.encoding, self.durations)


class Prediction(NamedTuple):
    """What the stages before the decoder compute of an utterance; `Trace` describes the tensors."""

    hidden: Floats
    encoding: Floats
    predicted_durations: Floats
    durations: NDArray[np.int64]
    text: Floats
    asr: Floats
    f0: Floats
    energy: Floats

    def curves(self, style: Style) -> dict[str, Floats]:
        """Returns the decoder's inputs but for the noise or the spectrum."""
        return {"asr": self.asr, "f0": self.f0, "energy": self.energy, STYLE: style.decoder}


class Choices(NamedTuple):
    """Values from the caller that replace computed or chosen ones."""

    durations: NDArray[np.int64] | None = None
    """Frames of each token, ``[tokens]``."""
    noise: Floats | None = None
    """Noise of the harmonic source, ``[1, 600 * frames]``."""
    buckets: Mapping[str, int] | None = None
    """Bucket by stage; by default the smallest that holds the length."""


def run_chain(
    stages: Mapping[str, StageRunner],
    token_ids: NDArray[np.int64],
    style: Style,
    speed: float,
    seed: int,
    choices: Choices,
) -> Trace:
    """Speaks tokens through all stages.

    Args:
        stages: a runner for every stage.
        token_ids: int64 ``[1, tokens]`` with the boundary tokens.
        style: row of a voice.
        speed: a checked speed.
        seed: a checked seed of the noise.
        choices: values to use in place of computed ones.

    Raises:
        UtteranceTooLongError: the durations exceed the largest bucket; nothing was decoded.
        TensorInputError: something in `choices` does not fit.
        ModelOutputError: the durations are not finite.
    """
    buckets = {} if choices.buckets is None else choices.buckets
    check_type("buckets", buckets, Mapping, "a mapping of stages to buckets")
    run = partial(run_stage, stages, buckets, {})
    found = predict(stages, run, token_ids, style, speed, choices.durations)
    noise = choices.noise
    if noise is None:
        noise = gaussian_noise(seed, SAMPLES_PER_FRAME * found.asr.shape[2])[None]
    audio, spectrum = decode(run, found.curves(style), noise, separate_source=SOURCE in stages)
    return Trace(token_ids, style, *found, noise, audio, spectrum)


def run_stage(
    stages: Mapping[str, StageRunner],
    buckets: Mapping[str, int],
    parameters: Mapping[str, Floats],
    name: str,
    **inputs: NDArray[np.generic],
) -> list[Floats]:
    """Runs a stage, with some parameters in place of the bundle's, and returns its outputs in order."""
    return list(stages[name].run(inputs, buckets.get(name), parameters=parameters).values())


def predict(
    stages: Mapping[str, StageRunner],
    run: Run,
    token_ids: NDArray[np.int64],
    style: Style,
    speed: float,
    durations: NDArray[np.int64] | None = None,
    *,
    fitted: bool = False,
) -> Prediction:
    """Runs all stages before the decoder; arguments and errors are those of `run_chain`.

    Args:
        stages: a runner for every stage.
        run: runs one of them.
        token_ids: int64 ``[1, tokens]`` with the boundary tokens.
        style: row of a voice.
        speed: a checked speed.
        durations: frames of each token in place of the predicted ones.
        fitted: see `Utterance`.
    """
    (hidden,) = run("bert", token_ids=token_ids)
    encoding, predicted = run("duration", hidden=hidden, prosody_style=style.prosody)
    if durations is None:
        durations = round_durations(predicted, fitted_speed(predicted, speed) if fitted else speed)
    _check_frames(stages, durations, token_ids.shape[1])
    (text,) = run("text_encoder", token_ids=token_ids)
    # It is large, and nothing else needs it.
    f0, energy = run("f0n", aligned_encoding=align(encoding, durations), prosody_style=style.prosody)
    return Prediction(hidden, encoding, predicted, durations, text, align(text, durations), f0, energy)


def decode(
    run: Run, curves: Mapping[str, Floats], noise: Floats, *, separate_source: bool
) -> tuple[Floats, Floats | None]:
    """Returns the samples of the decoder, and the spectrum of its source where that is a stage of its own.

    Args:
        run: runs a stage.
        curves: the decoder's inputs but for the noise or the spectrum.
        noise: noise of the harmonic source, ``[1, 600 * frames]``.
        separate_source: the harmonic source is a stage of its own.
    """
    if not separate_source:
        (audio,) = run("decoder", **curves, noise=noise)
        return audio, None
    (spectrum,) = run(SOURCE, f0=curves["f0"], noise=noise)
    (audio,) = run("decoder", **curves, spectrum=spectrum)
    return audio, spectrum


def _check_frames(stages: Mapping[str, StageRunner], durations: NDArray[np.int64], tokens: int) -> None:
    """Refuses more frames than all stages along the frames hold."""
    if not isinstance(durations, np.ndarray):
        raise TensorInputError(
            f"Expected durations as an array int64 [{tokens}], found {type(durations).__name__}."
        )
    if durations.dtype != np.int64 or durations.shape != (tokens,) or durations.min() < 1:
        raise TensorInputError(
            f"Expected durations as int64 [{tokens}] of at least 1, "
            f"found {durations.dtype} {list(durations.shape)}: {durations!r}."
        )
    # Python's integers have no bounds: a sum beyond 64 bits would pass as a small one.
    frames: int = sum(durations.tolist())
    capacity = min(runner.buckets[-1] for runner in stages.values() if runner.stage.axis == "frames")
    if frames > capacity:
        raise UtteranceTooLongError(frames, capacity, FRAMES_PER_SECOND)
