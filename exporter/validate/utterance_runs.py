"""One utterance in pt.dynamic, pt.static and the bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exporter.parity.answers import Kokoro
from exporter.parity.expected import decoder_inputs
from exporter.parity.figures import request_for
from exporter.parity.waveforms import Progress
from exporter.reference.traces import Array, ModelInput, ReferenceTrace
from exporter.reference.utterances import Utterance
from exporter.validate.kernel_order import StageCalls
from exporter.validate.results import STATIC
from runtime_min import Bundle
from runtime_min.errors import ModelOutputError
from runtime_min.model.chain import Trace

LOGITS_TAP = "output:predictor.duration_proj"
PREFIX = "pt.static, F0 and N of the prefix"


@dataclass(frozen=True)
class Executions:
    """The bundle and kokoro, which run utterances."""

    bundle: Bundle
    kokoro: Kokoro
    calls: Mapping[str, StageCalls]
    """The kernels that each stage of the bundle calls."""
    static_tokens: int = 512
    """Tokens to which pt.static is padded."""
    static_frames: int = 5120
    progress: Progress = lambda doing: None
    """A function that takes a description of the next computation."""


@dataclass(frozen=True)
class UtteranceRuns:
    """An utterance in the three executions."""

    executions: Executions
    utterance: Utterance
    request: ModelInput
    """The utterance as kokoro takes it."""
    bundle_trace: Trace
    """The bundle's chain, with pt.dynamic's durations."""
    predicted: NDArray[np.int64]
    """The bundle's own durations, [tokens]; zeros if they are not numbers."""
    dynamic: ReferenceTrace
    logits: Array
    """Logits of pt.dynamic, [1, tokens, bins]."""

    @property
    def frames(self) -> int:
        """Number of frames of the utterance."""
        return int(self.dynamic.frames.sum())

    def decoder_inputs(self, trace: ReferenceTrace | Trace) -> dict[str, Array]:
        """Returns the inputs of an execution's decoder, with kokoro's style."""
        return decoder_inputs(trace, self.request.style, self.bundle_trace.noise)

    @cached_property
    def equal(self) -> Trace:
        """The bundle's chain with pt.dynamic's quantities as the inputs of each stage."""
        dynamic = self.dynamic
        return self.bundle_trace._replace(
            token_ids=self.request.token_ids[None],
            style=self.request.style,
            hidden=dynamic.hidden,
            encoding=dynamic.encoding,
            asr=dynamic.asr,
            f0=dynamic.f0,
            energy=dynamic.energy,
        )

    @cached_property
    def static(self) -> tuple[ReferenceTrace, Array]:
        """pt.static's quantities on the valid prefix, and its logits."""
        return self._speak_static(self.executions.static_frames, False)

    @cached_property
    def prefixed(self) -> ReferenceTrace:
        """pt.static's quantities with F0 and N of the prefix."""
        return self._speak_static(self.executions.static_frames, True)[0]

    def speak_static(self, frame_length: int, prefix_f0n: bool = False) -> ReferenceTrace:
        """Runs pt.static in a bucket of that many frames, with the durations of pt.dynamic."""
        if frame_length == self.executions.static_frames:
            return self.prefixed if prefix_f0n else self.static[0]
        return self._speak_static(frame_length, prefix_f0n)[0]

    def _speak_static(self, frame_length: int, prefix_f0n: bool) -> tuple[ReferenceTrace, Array]:
        executions = self.executions
        executions.progress(f"{PREFIX if prefix_f0n else STATIC} at {frame_length} frames")
        with executions.kokoro.reference.tap([LOGITS_TAP]) as tapped:
            forced = replace(self.request, durations=self.dynamic.frames)
            trace = executions.kokoro.reference.static(
                forced, executions.static_tokens, frame_length, prefix_f0n=prefix_f0n
            )
            return trace, tapped[LOGITS_TAP][0]


def run_utterance(executions: Executions, utterance: Utterance) -> UtteranceRuns:
    """Speaks an utterance with the bundle and with pt.dynamic.

    Raises:
        InputError: the bundle cannot speak it.
    """
    said = (utterance.phonemes, utterance.voice, utterance.speed, utterance.seed)
    executions.progress("the bundle and pt.dynamic")
    request = request_for(executions.bundle, utterance)
    with executions.kokoro.reference.tap([LOGITS_TAP]) as tapped:
        dynamic = executions.kokoro.reference.speak(request)
        logits = tapped[LOGITS_TAP][0]
    try:
        bundle_trace = executions.bundle.trace(*said)
        predicted = bundle_trace.durations
    except ModelOutputError:
        predicted = np.zeros_like(dynamic.frames)
    if not np.array_equal(predicted, dynamic.frames):
        # Later steps are compared frame by frame.
        bundle_trace = executions.bundle.trace(*said, durations=dynamic.frames)
    return UtteranceRuns(executions, utterance, request, bundle_trace, predicted, dynamic, logits)
