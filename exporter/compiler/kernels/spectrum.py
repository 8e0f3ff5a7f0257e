"""Short-time Fourier transforms of the generator, as `torch.stft` and `torch.istft` compute them.

Frames of 20 samples, 5 apart, under a periodic Hann window and centred: a signal of 5 (n - 1) samples has n
spectra of 11 bins. A direct sum of 20 terms costs less than the elementary functions around it. Both
kernels work on blocks of spectra that lie side by side in vectors, and both use that the taps t and 20 - t
have the same cosines and opposite sines. Loops over taps and bins run in Python, since each step has
constants of its own.
"""

import math
from collections.abc import Iterable
from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc
from tvm.tirx.op import fma

from exporter.compiler.kernels import vector_math
from exporter.compiler.kernels.function import kernel, length

FFT_SIZE = 20
HOP = 5
BINS = FFT_SIZE // 2 + 1

_LANES = 16
_BLOCK = 64
_HALF = FFT_SIZE // 2
OVERLAP = FFT_SIZE // HOP
# Rounding to 15 digits makes the zeros and halves exact.
COSINE = [round(math.cos(2 * math.pi * i / FFT_SIZE), 15) for i in range(FFT_SIZE)]
SINE = [round(math.sin(2 * math.pi * i / FFT_SIZE), 15) for i in range(FFT_SIZE)]
_MINUS_SINE = [-value for value in SINE]
# torch.hann_window(20) to the bit, whose float32 rounding is not symmetric. The first frame of a reflected
# signal is symmetric, so this asymmetry alone decides the sign of its imaginary parts, and whether an angle
# is near +pi or -pi.
HANN = [
    0.0, 0.02447172999382019, 0.09549149870872498, 0.20610737800598145, 0.34549152851104736,
    0.5, 0.6545085310935974, 0.7938926219940186, 0.9045084714889526, 0.9755282998085022,
    1.0, 0.9755282402038574, 0.9045084714889526, 0.793892502784729, 0.6545085310935974,
    0.5, 0.3454914391040802, 0.2061072587966919, 0.09549137949943542, 0.02447172999382019,
]  # fmt: skip
# The sum of the squared windows over a sample, by its offset in the hop.
ENVELOPE = [sum(value**2 for value in HANN[offset::HOP]) for offset in range(HOP)]


def source_spectrum() -> PrimFunc:
    """Magnitudes and angles of a signal's STFT, with the signal reflected at its ends.

    The imaginary parts of the first and the last bin are +0, so their angle is 0 or +pi.

    Arguments of the kernel, float32: source [1, samples]; spectrum [1, 22, floor(samples / 5) + 1], 11
    magnitudes then 11 angles in radians. There must be at least 400 samples, more than a block reads past
    the end.
    """
    columns = _BLOCK + OVERLAP

    samples = length("samples")

    @kernel(source=(1, samples), spectrum=(1, 2 * BINS, T.floordiv(samples, HOP) + 1))
    def source_spectrum(source: Any, spectrum: Any) -> None:
        for block in T.parallel(T.floordiv(T.floordiv(samples, HOP) + _BLOCK, _BLOCK)):
            taps = T.alloc_buffer((HOP, columns), "float32")
            polar = T.alloc_buffer((2 * BINS, _BLOCK), "float32")
            for column in T.serial(columns):
                for tap in T.serial(HOP):
                    taps[tap, column] = source[
                        0, _reflect((block * _BLOCK + column) * HOP + tap - _HALF, samples)
                    ]
            for step in T.serial(_BLOCK // _LANES):
                even = T.alloc_buffer((_HALF + 1, _LANES), "float32", scope="local")
                odd = T.alloc_buffer((_HALF + 1, _LANES), "float32", scope="local")
                real = T.alloc_buffer((BINS, _LANES), "float32", scope="local")
                imaginary = T.alloc_buffer((BINS, _LANES), "float32", scope="local")
                _fold(taps, even, odd, step * _LANES)
                _transform(even, odd, real, imaginary)
                for frequency in T.serial(BINS):
                    for lane in T.vectorized(_LANES):
                        polar[frequency, step * _LANES + lane] = T.sqrt(
                            fma(
                                real[frequency, lane],
                                real[frequency, lane],
                                imaginary[frequency, lane] * imaginary[frequency, lane],
                            )
                        )
                    for lane in T.vectorized(_LANES):
                        polar[BINS + frequency, step * _LANES + lane] = vector_math.atan2(
                            imaginary[frequency, lane], real[frequency, lane]
                        )
            for row in T.serial(2 * BINS):
                for column in T.serial(T.min(T.int64(_BLOCK), T.floordiv(samples, HOP) + 1 - block * _BLOCK)):
                    spectrum[0, row, block * _BLOCK + column] = polar[row, column]

    return source_spectrum


def _reflect(index: Any, length: Any) -> Any:
    """Index inside 0..length-1 of a signal continued by reflection about its first and its last sample."""
    return length - 1 - T.abs(length - 1 - T.abs(index))


def _fold(taps: Any, even: Any, odd: Any, first: Any) -> None:
    """Emits even[t] = y[t] + y[20-t] and odd[t] = y[t] - y[20-t] of windowed frames y from column `first`.

    Tap t of a frame is row t % 5 of `taps`, t // 5 columns further. The window is 0 at tap 0 and 1 at tap 10.
    """

    def windowed(tap: int, lane: Any) -> Any:
        # Adding +0 keeps the product's own rounding: LLVM would fuse a plain one into the sum that follows.
        return fma(taps[tap % HOP, first + tap // HOP + lane], T.float32(HANN[tap]), T.float32(0))

    for tap in range(1, _HALF):
        with T.vectorized(_LANES) as lane:
            T.buffer_store(even, windowed(tap, lane) + windowed(FFT_SIZE - tap, lane), [tap, lane])
        with T.vectorized(_LANES) as lane:
            T.buffer_store(odd, windowed(tap, lane) - windowed(FFT_SIZE - tap, lane), [tap, lane])
    with T.vectorized(_LANES) as lane:
        T.buffer_store(even, windowed(_HALF, lane), [_HALF, lane])


def _transform(even: Any, odd: Any, real: Any, imaginary: Any) -> None:
    """Emits the Fourier sums of folded frames: real from even[1..10], imaginary from odd[1..9]."""
    for frequency in range(BINS):
        with T.vectorized(_LANES) as lane:
            T.buffer_store(real, _sum(even, COSINE, frequency, range(1, _HALF + 1), lane), [frequency, lane])
        with T.vectorized(_LANES) as lane:
            # All sines of the first and the last bin are zeros, so their sum is the +0 it starts from.
            T.buffer_store(
                imaginary, _sum(odd, _MINUS_SINE, frequency, range(1, _HALF), lane), [frequency, lane]
            )


def _sum(values: Any, table: list[float], factor: int, rows: Iterable[int], lane: Any) -> Any:
    """Sum of values[row, lane] * table[factor * row mod 20] over the rows, zeros of the table left out."""
    total = T.float32(0)
    for row in rows:
        coefficient = table[factor * row % FFT_SIZE]
        if coefficient:
            total = fma(values[row, lane], T.float32(coefficient), total)
    return total


@T.inline
def _load_complex(x: Any, real: Any, imaginary: Any, first: Any, n: Any) -> None:
    """Fills real and imaginary parts of the frames from `first`, repeating the end frames past the ends."""
    for frequency in T.serial(BINS):
        for column in T.serial(_BLOCK):
            real[frequency, column] = x[0, frequency, T.max(T.min(first + column, n - 1), 0)]
        for column in T.serial(_BLOCK):
            imaginary[frequency, column] = x[0, BINS + frequency, T.max(T.min(first + column, n - 1), 0)]
        for step in T.serial(_BLOCK // _LANES):
            angle = T.alloc_buffer((_LANES,), "float32", scope="local")
            magnitude = T.alloc_buffer((_LANES,), "float32", scope="local")
            for lane in T.vectorized(_LANES):
                magnitude[lane] = vector_math.exp(real[frequency, step * _LANES + lane])
            for lane in T.vectorized(_LANES):
                angle[lane] = vector_math.sin(imaginary[frequency, step * _LANES + lane])
            for lane in T.vectorized(_LANES):
                real[frequency, step * _LANES + lane] = magnitude[lane] * vector_math.cos(angle[lane])
            for lane in T.vectorized(_LANES):
                imaginary[frequency, step * _LANES + lane] = magnitude[lane] * vector_math.sin(angle[lane])


def _transform_back(real: Any, imaginary: Any, frames: Any, first: Any) -> None:
    """Emits windowed frames[tap, column] of 16 columns from `first`, divided by the envelope.

    Tap 0 stays unwritten: its window is 0.
    """
    inner = range(1, BINS - 1)
    for tap in range(1, FFT_SIZE):
        scale = 2 * HANN[tap] / (FFT_SIZE * ENVELOPE[tap % HOP])
        with T.vectorized(_LANES) as lane:
            column = first + lane
            ends = real[0, column] + real[BINS - 1, column] * T.float32((-1.0) ** tap)
            even = fma(T.float32(0.5), ends, _sum(real, COSINE, tap, inner, column))
            odd = _sum(imaginary, SINE, tap, inner, column)
            T.buffer_store(frames, (even - odd) * T.float32(scale), [tap, column])


def _overlap_add(frames: Any, audio: Any, first: Any, count: Any) -> None:
    """Emits `count` hops of audio from `first`; hop h is the sum of four frames from column h - first."""
    for offset in range(HOP):
        with T.serial(count) as hop:
            total = T.float32(0)
            for column in range(OVERLAP):
                tap = (OVERLAP - 1 - column) * HOP + offset
                if tap:
                    total = total + frames[tap, hop + column]
            T.buffer_store(audio, total, [0, (first + hop) * HOP + offset])


def _correct_envelope(audio: Any, hop: Any, missing_tap: int) -> None:
    """Emits the division of one hop by the smaller envelope where one frame is missing."""
    for offset in range(HOP):
        factor = ENVELOPE[offset] / (ENVELOPE[offset] - HANN[missing_tap + offset] ** 2)
        index = [0, hop * HOP + offset]
        T.buffer_store(audio, audio[tuple(index)] * T.float32(factor), index)


def inverse_stft(channels: int) -> PrimFunc:
    """Signal whose STFT has the magnitudes exp(x[k]) and the angles sin(x[11 + k]), k = 0..10.

    Frames are windowed, added where they overlap and divided by the sum of the squared windows. As in
    `torch.istft`, the imaginary parts of the first and the last bin count for nothing.

    Arguments of the kernel, float32: x [1, channels, n], whose channels past 22 are not read; audio
    [1, 5 (n - 1)]. There must be at least three spectra.

    Args:
        channels: channels of x, 22 or more.

    Raises:
        ValueError: there are fewer than 22 channels.
    """
    if channels < 2 * BINS:
        raise ValueError(f"inverse_stft needs at least {2 * BINS} channels, found {channels}")
    hops = _BLOCK - (OVERLAP - 1)

    n = length()

    @kernel(x=(1, channels, n), audio=(1, HOP * (n - 1)))
    def inverse_stft(x: Any, audio: Any) -> None:
        for block in T.parallel(T.floordiv(n - 1 + (hops - 1), hops)):
            # Hop h gets frames h - 1 to h + 2; column 0 holds the frame before the first hop.
            first: T.let = block * hops
            real = T.alloc_buffer((BINS, _BLOCK), "float32")
            imaginary = T.alloc_buffer((BINS, _BLOCK), "float32")
            frames = T.alloc_buffer((FFT_SIZE, _BLOCK), "float32")
            _load_complex(x, real, imaginary, first - 1, n)
            for step in T.serial(_BLOCK // _LANES):
                _transform_back(real, imaginary, frames, step * _LANES)
            for column in T.serial(_BLOCK):
                if first - 1 + column < 0 or first - 1 + column >= n:
                    for tap in T.serial(1, FFT_SIZE):
                        frames[tap, column] = T.float32(0)
            _overlap_add(frames, audio, first, T.min(T.int64(hops), n - 1 - first))
            if first == 0:
                _correct_envelope(audio, 0, FFT_SIZE - HOP)
            if first <= n - 2 and n - 2 < first + hops:
                _correct_envelope(audio, n - 2, 0)

    return inverse_stft
