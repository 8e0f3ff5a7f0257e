"""The harmonic source of the generator: nine sines that follow F0, merged with noise into one signal.

The generator feeds the raw angle of this signal's spectrum to convolutions, so the waveform is nearly
chaotic in F0, and only a source that rounds as PyTorch does gives PyTorch's speech. Each step therefore
repeats a float32 rounding of `kokoro.istftnet.SineGen`, which runs at 24 kHz on F0 repeated 300 times, and
interpolates down by 300 and up again:

1. `rad = remainder(f0 * k / 24000, 1)` for the harmonics k = 1..9. It is constant over the 300 samples of
   an F0 value, so the linear interpolation down by 300 gives back `rad` itself.
2. `phase = cumsum(rad) * 2 * pi * 300`, where the sum is kept in float64 and rounded to float32 at every
   step.
3. Linear interpolation up by 300 between the centres of F0 values, as torch's kernel does it on a CPU with
   fused multiply-add: `position = max(fma(j + 0.5, 1/300, -0.5), 0)`, `right = position - floor(position)`,
   then `fma(1 - right, phase[i], right * phase[i + 1])`, whose second product is rounded by itself.
4. The sine of that, which reaches millions of radians.

Unvoiced F0 is slightly negative: its remainder is nearly 1 and the phase then grows by 1885 radians a
value, where a float32 step is 0.01 and more. A more exact phase would be a different signal.
"""

import math
from typing import Any

import numpy as np
from tvm.script import tirx as T
from tvm.tirx import PrimFunc
from tvm.tirx.op import fma

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel, length
from runtime_min.format.signatures import F0_PER_FRAME, HARMONICS, SAMPLE_RATE, SAMPLES_PER_FRAME

SAMPLES_PER_F0 = SAMPLES_PER_FRAME // F0_PER_FRAME

_SAMPLE_RATE = float(SAMPLE_RATE)
_VOICED_ABOVE = 10.0  # Hz
_SINE_AMPLITUDE = float(np.float32(0.1))
_VOICED_NOISE = 0.003
# kokoro: (1 - uv) * sine_amp / 3, in float32.
_UNVOICED_NOISE = float(np.float32(0.1) / np.float32(3))

# A job is the half of an F0 value on one side of its centre: its samples lie between the same two phases.
_HALF = SAMPLES_PER_F0 // 2
_LANES = 16
_STEPS = -(-_HALF // _LANES)
_PADDED_HALF = _STEPS * _LANES


def _left_phase(half: Any) -> Any:
    """Index of the F0 value whose centre is left of a half; the first half has only one neighbour."""
    return T.max(T.floordiv(half + 1, 2) - 1, T.int64(0))


def _right_phase(half: Any, n: Any) -> Any:
    """Index of the F0 value whose centre is right of a half; the last half has only one neighbour."""
    return T.min(T.floordiv(half + 1, 2), n - 1)


@T.inline
def _accumulate_phases(f0: Any, phases: Any, n: Any) -> None:
    """Fills phases[harmonic, i] with the phase in radians at the centre of each F0 value (steps 1 and 2)."""
    cycles = T.alloc_buffer((HARMONICS,), "float64", scope="local")
    rad = T.alloc_buffer((1,), "float32", scope="local")
    for harmonic in T.serial(HARMONICS):
        cycles[harmonic] = T.float64(0)
    for i in T.serial(n):
        for harmonic in T.serial(HARMONICS):
            rad[0] = f0[0, i] * T.cast(harmonic + 1, "float32") / T.float32(_SAMPLE_RATE)
            rad[0] = rad[0] - T.trunc(rad[0])
            if rad[0] < T.float32(0):
                rad[0] = rad[0] + T.float32(1)
            cycles[harmonic] = cycles[harmonic] + T.cast(rad[0], "float64")
            phases[harmonic, i] = (
                T.cast(cycles[harmonic], "float32")
                * T.float32(2) * T.float32(math.pi) * T.float32(SAMPLES_PER_F0)
            )  # fmt: skip


@T.inline
def _fill_right_share(share: Any, half: Any) -> None:
    """Fills share[j] with the interpolation weight of the right phase at the samples of one half (step 3).

    The position may round up to the right phase's own index. Its floor is then one more than `_left_phase`,
    and the share is 1 instead of 0 of the next pair, which gives the same result.
    """
    for step in T.serial(_STEPS):
        for lane in T.vectorized(_LANES):
            share[step * _LANES + lane] = T.max(
                fma(
                    T.cast(half * _HALF, "float32")
                    + T.cast(step * _LANES + lane, "float32")
                    + T.float32(0.5),
                    T.float32(1 / SAMPLES_PER_F0),
                    T.float32(-0.5),
                ),
                T.float32(0),
            )
        for lane in T.vectorized(_LANES):
            share[step * _LANES + lane] = share[step * _LANES + lane] - T.cast(_left_phase(half), "float32")


@T.inline
def _fill_sine(sine: Any, share: Any, left: Any, right: Any) -> None:
    """Fills sine[j] for one harmonic from the phases at both ends (steps 3 and 4)."""
    for step in T.serial(_STEPS):
        angle = T.alloc_buffer((_LANES,), "float32", scope="local")
        for lane in T.vectorized(_LANES):
            angle[lane] = fma(
                T.float32(1) - share[step * _LANES + lane], left, share[step * _LANES + lane] * right
            )
        for lane in T.vectorized(_LANES):
            sine[step * _LANES + lane] = vector_math.sin(angle[lane])


@T.inline
def _length_of_weights(weights: Any, length: Any) -> None:
    """Sets length[0] to |weights|."""
    length[0] = T.float32(0)
    for harmonic in T.serial(HARMONICS):
        length[0] = fma(weights[harmonic], weights[harmonic], length[0])
    length[0] = T.sqrt(length[0])


def harmonic_source() -> PrimFunc:
    """Excitation signal tanh(sum_k w_k * (0.1 * sine_k * voiced) + amplitude * |w| * noise + bias).

    F0 is voiced above 10 Hz; the noise amplitude is 0.003 there and 0.1/3 elsewhere. kokoro draws nine
    noises, one a harmonic; their sum weighted by w has the distribution of |w| times one of them.

    Arguments of the kernel, float32: f0 [1, n] in Hz, weights [9], bias [1], noise [1, 300 n] of unit
    variance; source [1, 300 n].
    """
    n = length()

    @kernel(
        f0=(1, n),
        weights=(HARMONICS,),
        bias=(1,),
        noise=(1, SAMPLES_PER_F0 * n),
        source=(1, SAMPLES_PER_F0 * n),
    )
    def harmonic_source(f0: Any, weights: Any, bias: Any, noise: Any, source: Any) -> None:
        phases = T.alloc_buffer((HARMONICS, n), "float32")
        _accumulate_phases(f0, phases, n)
        for half in T.parallel(2 * n):
            share = T.alloc_buffer((_PADDED_HALF,), "float32")
            sine = T.alloc_buffer((_PADDED_HALF,), "float32")
            total = T.alloc_buffer((_PADDED_HALF,), "float32")
            length = T.alloc_buffer((1,), "float32", scope="local")
            voiced: T.let = f0[0, T.floordiv(half, 2)] > T.float32(_VOICED_ABOVE)
            amplitude: T.let = T.Select(voiced, T.float32(_SINE_AMPLITUDE), T.float32(0))
            noise_amplitude: T.let = T.Select(voiced, T.float32(_VOICED_NOISE), T.float32(_UNVOICED_NOISE))
            _fill_right_share(share, half)
            for step in T.serial(_STEPS):
                for lane in T.vectorized(_LANES):
                    total[step * _LANES + lane] = T.float32(0)
            for harmonic in T.serial(HARMONICS):
                left: T.let = phases[harmonic, _left_phase(half)]
                right: T.let = phases[harmonic, _right_phase(half, n)]
                _fill_sine(sine, share, left, right)
                for step in T.serial(_STEPS):
                    for lane in T.vectorized(_LANES):
                        total[step * _LANES + lane] = fma(
                            weights[harmonic],
                            sine[step * _LANES + lane] * amplitude,
                            total[step * _LANES + lane],
                        )
            _length_of_weights(weights, length)
            for j in T.serial(_HALF):
                total[j] = fma(noise_amplitude * length[0], noise[0, half * _HALF + j], total[j])
            for step in T.serial(_STEPS):
                for lane in T.vectorized(_LANES):
                    total[step * _LANES + lane] = total[step * _LANES + lane] + bias[0]
                for lane in T.vectorized(_LANES):
                    total[step * _LANES + lane] = vector_math.tanh(total[step * _LANES + lane])
            for j in T.serial(_HALF):
                source[0, half * _HALF + j] = total[j]

    return harmonic_source
