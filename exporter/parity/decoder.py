"""The decoder's audio on kokoro's inputs, judged apart from phases on whose side of pi rounding decides.

The decoder hears a phase of its source's spectrum as a number. Where a bin is nearly real and negative, the
last bit inside an FFT makes this number pi or minus pi, and the audio differs by 45 to 90 dB. Neither is
wrong, so the bundle is compared with kokoro on the same sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exporter.parity.answers import Kokoro
from exporter.parity.expected import Expected, Spread
from exporter.parity.source_spectrum import wrong_phases
from exporter.parity.thresholds import ALLOWANCES, DECODER_DECIBELS, EXACT, Allowance, decoder_limit
from exporter.reference.traces import Array
from runtime_min import Bundle
from runtime_min.engine.stage_runner import StageRunner
from runtime_min.format.signatures import SOURCE
from runtime_min.model.distances import Figure, snr

_KERNEL = "source_spectrum"


@dataclass(frozen=True)
class Decoded:
    """How near a decoder's audio is to kokoro's."""

    decibels: float
    same_phases: bool = True
    """True if nothing but rounding may differ; False if phases of the source's spectrum may, too."""
    allowed: Allowance = EXACT
    """What the bundle's arithmetic may add."""

    def figure(self, spread: Spread) -> Figure:
        """Judges the audio; only phases that may differ call for kokoro's spread."""
        same = self.allowed.widened(DECODER_DECIBELS)
        limit = same if self.same_phases else decoder_limit(spread, self.allowed)
        return Figure("decoder, dB", self.decibels, limit, at_least=True)


def decoded(bundle: Bundle, kokoro: Kokoro, expected: Expected, audio: Array) -> Decoded:
    """Compares a decoder's audio with kokoro's.

    If it is below the limit, kokoro decodes once more, with the bundle's phases wherever they are as good as
    its own. A wrong phase of the bundle's stays kokoro's, so it still counts.

    Args:
        bundle: the bundle whose decoder made the audio.
        kokoro: answers for the bundle's checkpoint.
        expected: kokoro's answer, whose `decoder_inputs` the decoder had.
        audio: the decoder's samples, [1, 600 * frames].

    Raises:
        ReferenceProcessError: kokoro does not run here.
    """
    found, allowed = snr(audio, expected.audio), allowance(bundle)
    if found >= allowed.widened(DECODER_DECIBELS):
        return Decoded(found, allowed=allowed)
    phases = _phases(bundle, expected)
    if phases is None:
        return Decoded(found, same_phases=False, allowed=allowed)
    own = kokoro.reference.source(expected.f0, expected.noise)
    phases = np.where(wrong_phases(phases, own.source), own.phase, phases)
    again = kokoro.reference.decode(expected.decoder_inputs, (own.magnitude, phases)).audio
    return Decoded(max(found, snr(audio, again)), allowed=allowed)


def allowance(bundle: Bundle) -> Allowance:
    """Returns what the arithmetic of a loaded bundle may add to the limits of float32."""
    return ALLOWANCES[bundle.arithmetic]


def _phases(bundle: Bundle, expected: Expected) -> Array | None:
    """Returns the phases in a bundle's decoder, [1, 11, 120 * frames + 1]; None if they cannot be read.

    They can be read where the source is a stage of its own, and from a decoder in this process on a CPU.
    """
    inputs = expected.decoder_inputs
    if bundle.manifest.separate_source:
        source = {"f0": inputs["f0"], "noise": inputs["noise"]}
        (spectrum,) = bundle.stage(SOURCE).run(source).values()
    elif type(runner := bundle.stage("decoder")) is StageRunner:
        spectrum = _read_spectrum(runner, inputs)
    else:
        return None
    return np.split(spectrum, 2, axis=1)[1]


def _read_spectrum(runner: StageRunner, inputs: dict[str, Array]) -> Array:
    """Returns what the kernel of the source's spectrum writes within a decoder, [1, 22, 120 * frames + 1]."""
    seen: list[Array] = []

    def look(function: Any, name: str, before: bool, result: Any, *arguments: Any) -> int:
        if name.startswith(_KERNEL) and not before:
            seen.append(np.from_dlpack(arguments[-1]).copy())
        return 0

    runner.run(inputs, instrument=look)
    (spectrum,) = seen
    return spectrum
