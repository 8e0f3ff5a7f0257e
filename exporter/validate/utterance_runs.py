"""One utterance as pt.dynamic, pt.static and the bundle speak it, and whom to ask more about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exporter.parity.answers import Kokoro
from exporter.parity.expected import decoder_inputs
from exporter.parity.figures import request_for
from exporter.reference.traces import Array, Request, Trace
from exporter.reference.utterances import Utterance
from exporter.validate.kernel_order import StageCalls
from exporter.validate.results import STATIC
from runtime_min import Bundle
from runtime_min.errors import ModelOutputError
from runtime_min.model.chain import Trace as SpokenTrace

LOGITS_TAP = "output:predictor.duration_proj"
PREFIX = "pt.static, F0 and N of the prefix"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Executions:
    """Whom to ask: the bundle and kokoro."""

    bundle: Bundle
    kokoro: Kokoro
    calls: Mapping[str, StageCalls]
    """Which kernels the bundle's stages call."""
    static_tokens: int = 512
    """What pt.static is padded to."""
    static_frames: int = 5120
    progress: Progress = lambda doing: None
    """Told what is computed next."""


@dataclass(frozen=True)
class Scene:
    """An utterance in the three executions."""

    ask: Executions
    utterance: Utterance
    given: Request
    """What kokoro is given for it."""
    spoken: SpokenTrace
    """The bundle's chain, with pt.dynamic's durations."""
    predicted: NDArray[np.int64]
    """The bundle's own durations, [n]; zeros where they are no numbers."""
    dynamic: Trace
    logits: Array
    """pt.dynamic's, [1, n, bins]."""

    @property
    def frames(self) -> int:
        """Of the utterance."""
        return int(self.dynamic.frames.sum())

    def decoder_inputs(self, trace: Trace | SpokenTrace) -> dict[str, Array]:
        """What an execution gave its decoder, with the style that kokoro is given."""
        return decoder_inputs(trace, self.given.style, self.spoken.noise)

    @cached_property
    def equal(self) -> SpokenTrace:
        """The bundle's chain with pt.dynamic's quantities in place of what each stage is given."""
        dynamic = self.dynamic
        return replace(
            self.spoken,
            token_ids=self.given.token_ids[None],
            style=self.given.style,
            hidden=dynamic.hidden,
            aligned_encoding=dynamic.aligned_encoding,
            asr=dynamic.asr,
            f0=dynamic.f0,
            energy=dynamic.energy,
        )

    @cached_property
    def static(self) -> tuple[Trace, Array]:
        """pt.static's quantities on the valid prefix, and its logits."""
        return self._speak_static(self.ask.static_frames, False)

    @cached_property
    def prefixed(self) -> Trace:
        """As `static`, with F0 and N of the prefix."""
        return self._speak_static(self.ask.static_frames, True)[0]

    def speak_static(self, frame_length: int, prefix_f0n: bool = False) -> Trace:
        """pt.static in a bucket of that many frames, with pt.dynamic's durations: frames can be compared."""
        if frame_length == self.ask.static_frames:
            return self.prefixed if prefix_f0n else self.static[0]
        return self._speak_static(frame_length, prefix_f0n)[0]

    def _speak_static(self, frame_length: int, prefix_f0n: bool) -> tuple[Trace, Array]:
        ask = self.ask
        ask.progress(f"{PREFIX if prefix_f0n else STATIC} at {frame_length} frames")
        with ask.kokoro.reference.tap([LOGITS_TAP]) as tapped:
            forced = replace(self.given, durations=self.dynamic.frames)
            trace = ask.kokoro.reference.static(
                forced, ask.static_tokens, frame_length, prefix_f0n=prefix_f0n
            )
            return trace, tapped[LOGITS_TAP][0]


def set_scene(ask: Executions, utterance: Utterance) -> Scene:
    """Speaks an utterance with the bundle and with pt.dynamic.

    Raises:
        InputError: the bundle cannot speak it.
    """
    said = (utterance.phonemes, utterance.voice, utterance.speed, utterance.seed)
    ask.progress("the bundle and pt.dynamic")
    given = request_for(ask.bundle, utterance)
    with ask.kokoro.reference.tap([LOGITS_TAP]) as tapped:
        dynamic = ask.kokoro.reference.speak(given)
        logits = tapped[LOGITS_TAP][0]
    try:
        spoken = ask.bundle.trace(*said)
        predicted = spoken.durations
    except ModelOutputError:
        predicted = np.zeros_like(dynamic.frames)
    if not np.array_equal(predicted, dynamic.frames):
        # Later steps are compared frame by frame.
        spoken = ask.bundle.trace(*said, durations=dynamic.frames)
    return Scene(ask, utterance, given, spoken, predicted, dynamic, logits)
