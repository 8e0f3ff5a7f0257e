"""Every limit of the project: numbers, and formulas of kokoro's own distances.

Each stage is judged on kokoro's own inputs, because the waveform is nearly chaotic in F0; only then the whole
chain, against kokoro's own spread (`exporter.parity.expected.Spread`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exporter.parity.expected import Spread
from runtime_min.format.arithmetic import FLOAT32

NEAR_A_HALF = 1e-4
"""A duration of kokoro's this close to a half may be rounded either way."""
TEXT_MAXIMUM = 1e-5
"""Least limit of the stages along tokens: greatest difference over RMS."""
USUAL_DISTANCE = 10 ** (-115 / 20)
"""Usual distance of float32 PyTorch's F0 and N from float64: 115 dB."""
F0N_UNITS = 2.0
"""Greatest distance of F0 and N from float64, in units of PyTorch's own (`f0n_unit`)."""
HIDDEN_DECIBELS = 90.0
"""Least of the decoder before its generator, on equal inputs."""
SINES_DECIBELS = 110.0
"""Least of the harmonic source's sines, on equal F0."""
SOURCE_DECIBELS = 110.0
"""Least of the merged harmonic source, on equal F0 and noise: a sum of nine sines and a tanh."""
SPECTRUM_DECIBELS = 110.0
"""Least of the magnitudes of the source's spectrum, on an equal source: transforms of twenty points."""
GENERATOR_DECIBELS = 80.0
"""Least of the audio on equal inputs of the generator and an equal source spectrum."""
BLOCK_DECIBELS = 90.0
"""Least of any single block on equal inputs; Winograd's convolutions reach 98, all others 112."""
DECODER_DECIBELS = 70.0
"""Least of the decoder on equal inputs, unless rounding in kokoro's source spectrum costs more."""
CHAIN_SPREADS = 2.0
"""Greatest distance of the whole chain, in units of kokoro's own spread."""
LOG_MEL_SHARE = 0.1
"""Least limit of the chain's log-mel distance, as a share of another seed's."""
LEVEL_DECIBELS = 0.1
"""Least limit of the difference in level: a fraction of what a listener can notice."""
ROUNDED_DECODER_DECIBELS = {"float16": 40.0, "int8": 32.0}
"""Least of kokoro's decoder with rounded weights, against the original ones, on equal inputs."""
ROUNDED_LOG_MEL_SHARE = {"float16": 0.1, "int8": 0.25}
"""Greatest log-mel distance of the same, as a share of another seed's, which nobody calls an error."""
ROUNDED_F0_CENTS = 3.0
"""Greatest median distance of F0 with rounded weights: listeners notice 5 cents in a steady vowel."""
ROUNDED_DURATIONS = 0.01
"""Greatest share of tokens that rounding the weights makes a frame longer or shorter."""
_DECIBELS_OF_TWO = 20 * float(np.log10(2))


@dataclass(frozen=True)
class Allowance:
    """What an arithmetic of the decoder may add to the distances that float32 may have."""

    rms: float = 0.0
    """RMS of the difference over the RMS."""
    log_mel_share: float = 0.0
    """Log-mel distance, as a share of another seed's."""
    level: float = 0.0
    """Difference in level, dB."""

    def widened(self, decibels: float) -> float:
        """Returns a least signal-to-noise ratio with this difference beside what is allowed anyway."""
        if self.rms == 0:
            return decibels
        return -20 * float(np.log10(10 ** (-decibels / 20) + self.rms))


EXACT = Allowance()
ALLOWANCES = {FLOAT32: EXACT, "bfloat16": Allowance(10 ** (-22 / 20), 0.6, 0.05)}
"""By the name of the arithmetic: less than another seed of the noise does, which nobody calls an error."""


def text_limit(own: float) -> float:
    """Returns the limit of a stage along tokens, greatest difference over RMS.

    The greatest distance is one of thousands: of programs that round equally well, one utterance favours this
    one and the next that one, by up to half on real weights.

    Args:
        own: kokoro's distance from float64 in the same measure.
    """
    return max(TEXT_MAXIMUM, 2 * own)


def f0n_unit(own: float) -> float:
    """Returns the relative distance from float64 in units of which F0 and N are judged.

    Rounding moves the F0 of a short utterance as a whole, so kokoro's own distance is near 0 now and then.

    Args:
        own: kokoro's relative distance from float64.
    """
    return max(own, USUAL_DISTANCE)


def decoder_limit(spread: Spread, allowed: Allowance = EXACT) -> float:
    """Returns the least decibels of the decoder on equal inputs, where phases may differ."""
    return allowed.widened(min(DECODER_DECIBELS, spread.source_decibels - _DECIBELS_OF_TWO))


def chain_limit(spread: Spread, allowed: Allowance = EXACT) -> float:
    """Returns the least decibels of the whole chain: twice as far as kokoro is from itself."""
    with np.errstate(divide="ignore"):
        return allowed.widened(-20 * float(np.log10(CHAIN_SPREADS * spread.rms)))


def mel_limit(spread: Spread, allowed: Allowance = EXACT) -> float:
    """Returns the greatest log-mel distance of the whole chain, as a share of another seed's."""
    return max(LOG_MEL_SHARE, 2 * spread.mel / spread.other_seed) + allowed.log_mel_share


def level_limit(spread: Spread, allowed: Allowance = EXACT) -> float:
    """Returns the greatest difference in level of the whole chain, dB."""
    return max(LEVEL_DECIBELS, 2 * spread.level) + allowed.level
