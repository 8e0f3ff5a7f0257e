"""Kokoro's answer for an utterance, and how far kokoro is from itself there.

A `ModelInput` is what kokoro's model takes. `Expected` is its answer, which can be stored. `Spread` is the
scale of the whole chain: the distances between kokoro and itself under eleven changes that mean nothing. Each
of them takes as long as the answer itself, so they are made one by one, and only while the verdict is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.parity.source_spectrum import exact_spectra
from exporter.reference.process import Reference, perturb
from exporter.reference.traces import Array, DecoderTrace, ModelInput, TextTrace
from runtime_min.format.signatures import SAMPLE_RATE, SAMPLES_PER_FRAME
from runtime_min.model.distances import level_difference, log_mel_distance, relative_rms
from runtime_min.model.noise import gaussian_noise
from runtime_min.model.voices import Style

NOTHING = 1e-6
"""Relative change of F0 that moves only the phase."""
OTHER_SEED = 1
"""Added to the seed of the noise for the signal that says how large a log-mel distance is nothing."""
WHITE_CHANGES = 8
CHANGES = (
    "rounding of F0 and N",
    "source spectrum without rounding",
    "source spectrum with its nearest phase turned",
    *(f"white change {number} of F0" for number in range(WHITE_CHANGES)),
)
"""The changes that mean nothing, in the order in which they are made."""
_SOURCES, _WHITE = slice(1, 3), slice(3, None)


@dataclass(frozen=True)
class Distances:
    """The distances of a signal from another of the same length."""

    rms: float
    """RMS of the difference over the RMS of the reference."""
    mel: float
    """Log-mel distance."""
    level: float
    """Difference in level, dB."""

    @property
    def decibels(self) -> float:
        """The signal-to-noise ratio; infinite where both signals are equal."""
        return float("inf") if self.rms == 0 else -20 * float(np.log10(self.rms))


def distances(audio: Array, reference: Array) -> Distances:
    """Measures how far `audio` is from `reference`, [1, samples] each."""
    return Distances(
        relative_rms(audio, reference),
        log_mel_distance(audio, reference),
        level_difference(audio, reference),
    )


@dataclass(frozen=True)
class Expected(TextTrace):
    """Kokoro's answer to a request, and its tensors in float64 by which figures are judged."""

    request: ModelInput
    frames: NDArray[np.int64]
    """Frames of each token, [tokens]."""
    f0: Array
    """F0 in Hz, [1, 2 * frames]."""
    energy: Array
    """Energy, kokoro's N, [1, 2 * frames]."""
    audio: Array
    """Samples, [1, 600 * frames]."""
    exact_text: TextTrace
    """The stages along tokens in float64."""
    exact_f0: Array
    """F0 in Hz, [1, 2 * frames], in float64 on kokoro's own aligned encoding."""
    exact_energy: Array
    """Energy, [1, 2 * frames], in float64 on kokoro's own aligned encoding."""
    chain_f0: Array
    """F0 in Hz, [1, 2 * frames], in float64 with the stages along tokens in float64 too."""
    chain_energy: Array
    """Energy, [1, 2 * frames], in float64 with the stages along tokens in float64 too."""
    other_seed: float
    """Log-mel distance to the answer with noise of another seed."""
    changes: tuple[Distances, ...] = ()
    """Kokoro's distances from itself under the first of `CHANGES`, as many as have been made."""

    @property
    def aligned_encoding(self) -> Array:
        """Input of F0 and N: `encoding` repeated by `frames`, [1, 640, frames]."""
        return np.repeat(self.encoding, self.frames, axis=2)

    @property
    def asr(self) -> Array:
        """Input of the decoder: `text` repeated by `frames`, [1, 512, frames]."""
        return np.repeat(self.text, self.frames, axis=2)

    @property
    def noise(self) -> NDArray[np.float32]:
        """The decoder's noise, float32 [1, 600 * frames]."""
        return gaussian_noise(self.request.seed, SAMPLES_PER_FRAME * int(self.frames.sum()))[None]

    @property
    def decoder_inputs(self) -> dict[str, Array]:
        """Inputs of the decoder, kokoro's or a bundle's."""
        return decoder_inputs(self, self.request.style, self.noise)


def decoder_inputs(trace: Any, style: Style, noise: Array) -> dict[str, Array]:
    """Returns the inputs of a decoder, kokoro's or a bundle's, as an execution gave them to its own."""
    curves = {"asr": trace.asr, "f0": trace.f0, "energy": trace.energy}
    return {**curves, "decoder_style": style.decoder, "noise": noise}


@dataclass(frozen=True)
class Spread:
    """The distances of kokoro from itself under changes that mean nothing: the scale of the chain.

    It is the greatest of three, in each quantity:

    - The rounding of F0 and N, and of all that they come from: it is smooth in time and adds up in the phase.
    - The rounding in torch's FFT, which turns some phases of the first spectrum, whose signal is symmetric,
      from pi to -pi; and the phase nearest to that cut turned over, which any rounding may do.
    - White changes of F0, by 1e-6 or by the distance of kokoro's own F0 from float64, where that is more: the
      median of eight. In an utterance shorter than a second it is their greatest, because single phases
      decide there and the eight lie up to 50 dB apart.

    With only some of the changes every quantity is a lower bound of the whole spread's. A bundle that is
    within the limits of such a spread is therefore within those of the whole one.
    """

    samples: int
    """Length of the utterance."""
    other_seed: float
    """Log-mel distance to the answer with noise of another seed."""
    changes: tuple[Distances, ...]
    """Distances from itself under the first of `CHANGES`."""

    @property
    def rms(self) -> float:
        """RMS of the difference over the RMS."""
        return self._greatest([change.rms for change in self.changes])

    @property
    def mel(self) -> float:
        """Log-mel distance."""
        return self._greatest([change.mel for change in self.changes])

    @property
    def level(self) -> float:
        """Difference in level, dB."""
        return self._greatest([change.level for change in self.changes])

    @property
    def source_decibels(self) -> float:
        """Least ratio to the answer from a source spectrum of the changes of that."""
        return min((change.decibels for change in self.changes[_SOURCES]), default=float("inf"))

    def _greatest(self, values: Sequence[float]) -> float:
        white = values[_WHITE]
        if self.samples < SAMPLE_RATE:
            typical = max(white, default=0.0)
        else:
            # A distance that is not known yet is at least 0.
            typical = float(np.median([*white, *[0.0] * (WHITE_CHANGES - len(white))]))
        return max([*values[:1], *values[_SOURCES], typical])


def answer(reference: Reference, precise: Reference, request: ModelInput) -> Expected:
    """Lets kokoro answer a request.

    Args:
        reference: kokoro in float32.
        precise: kokoro in float64.
        request: the utterance.
    """
    said, text = reference.speak(request), precise.text(request)
    f0, energy = exact_f0n(precise, said.aligned_encoding, request.style)
    aligned = np.repeat(text.encoding, said.frames, axis=2)
    chain_f0, chain_energy = exact_f0n(precise, aligned, request.style)
    inputs = decoder_inputs(said, request.style, gaussian_noise(request.seed + OTHER_SEED, said.audio.size))
    other_seed = log_mel_distance(reference.decode(inputs).audio, said.audio)
    own = {field.name: getattr(said, field.name) for field in fields(TextTrace)}
    return Expected(
        **own, request=request, frames=said.frames, f0=said.f0, energy=said.energy, audio=said.audio,
        exact_text=text, exact_f0=f0, exact_energy=energy, chain_f0=chain_f0, chain_energy=chain_energy,
        other_seed=other_seed,
    )  # fmt: skip


def exact_f0n(precise: Reference, aligned_encoding: Array, style: Style) -> tuple[Array, Array]:
    """Returns F0 and N in float64, each [1, 2 * frames], of an aligned encoding, [1, 640, frames]."""
    return precise.f0n(aligned_encoding.astype(np.float64), style.prosody.astype(np.float64))


def make_change(reference: Reference, expected: Expected, number: int) -> Distances:
    """Measures how far one of `CHANGES` takes kokoro from its answer."""
    return distances(_changed(reference, expected, number).audio, expected.audio)


def _changed(reference: Reference, expected: Expected, number: int) -> DecoderTrace:
    inputs = expected.decoder_inputs
    if number == 0:
        f0, energy = expected.chain_f0.astype(np.float32), expected.chain_energy.astype(np.float32)
        return reference.decode(inputs | {"f0": f0, "energy": energy})
    if number < _WHITE.start:
        spectra = exact_spectra(reference.source(expected.f0, expected.noise).source)
        return reference.decode(inputs, spectra[number - _SOURCES.start])
    size = max(NOTHING, relative_rms(expected.f0, expected.chain_f0))
    return reference.decode(inputs | {"f0": perturb(expected.f0, size, number - _WHITE.start)})
