"""The generator's inverse STFT on a GPU; `kernels.spectrum` has the formula."""

from collections.abc import Iterable
from typing import Any

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

from exporter.compiler.kernels.function import kernel, length
from exporter.compiler.kernels.gpu import device_math
from exporter.compiler.kernels.spectrum import BINS, COSINE, ENVELOPE, FFT_SIZE, HANN, HOP, OVERLAP, SINE

THREADS = 64
"""Spectra of a block of threads, one each."""
_HOPS = THREADS - (OVERLAP - 1)
"""Hops of audio of a block: a hop is the sum of four frames."""


def _sum(values: Any, table: list[float], tap: int, bins: Iterable[int]) -> Any:
    """Sum of values[k] * table[tap * k mod 20] over the bins, zeros of the table left out."""
    total = T.float32(0)
    for frequency in bins:
        coefficient = table[tap * frequency % FFT_SIZE]
        if coefficient:
            total = total + values[frequency] * T.float32(coefficient)
    return total


def _transform_back(real: Any, imaginary: Any, frames: Any, column: Any, inside: Any) -> None:
    """Emits frames[tap, column], windowed and divided by the envelope, and zeros where not `inside`."""
    inner = range(1, BINS - 1)
    for tap in range(FFT_SIZE):
        scale = 2 * HANN[tap] / (FFT_SIZE * ENVELOPE[tap % HOP])
        ends = real[0] + real[BINS - 1] * T.float32((-1.0) ** tap)
        even = T.float32(0.5) * ends + _sum(real, COSINE, tap, inner)
        value = (even - _sum(imaginary, SINE, tap, inner)) * T.float32(scale)
        T.buffer_store(frames, T.Select(inside, value, T.float32(0)), [tap, column])


def _overlap_add(frames: Any, audio: Any, hop: Any, column: Any, last: Any) -> None:
    """Emits one hop of audio; the first and the last one have a smaller envelope, as a frame is missing."""
    for offset in range(HOP):
        total = T.float32(0)
        for frame in range(OVERLAP):
            total = total + frames[(OVERLAP - 1 - frame) * HOP + offset, column + frame]
        whole = ENVELOPE[offset]
        first_factor = whole / (whole - HANN[FFT_SIZE - HOP + offset] ** 2)
        last_factor = whole / (whole - HANN[offset] ** 2)
        factor = T.Select(hop == last, T.float32(last_factor), T.float32(1))
        factor = T.Select(hop == 0, T.float32(first_factor), factor)
        T.buffer_store(audio, total * factor, [0, hop * HOP + offset])


def inverse_stft(channels: int) -> PrimFunc:
    """See `kernels.spectrum.inverse_stft`.

    Raises:
        ValueError: there are fewer than 22 channels.
    """
    if channels < 2 * BINS:
        raise ValueError(f"inverse_stft needs at least {2 * BINS} channels, found {channels}")

    n = length()

    @kernel(x=(1, channels, n), audio=(1, HOP * (n - 1)))
    def inverse_stft(x: Any, audio: Any) -> None:
        for block in T.thread_binding(T.floordiv(n - 1 + (_HOPS - 1), _HOPS), thread="blockIdx.x"):
            for column in T.thread_binding(THREADS, thread="threadIdx.x"):
                frames = T.alloc_buffer((FFT_SIZE, THREADS), "float32", scope="shared")
                real = T.alloc_buffer((BINS,), "float32", scope="local")
                imaginary = T.alloc_buffer((BINS,), "float32", scope="local")
                angle = T.alloc_buffer((2,), "float32", scope="local")  # what is read, and its sine
                last: T.let[T.int32] = T.cast(n, "int32") - 1
                # Hop h gets frames h - 1 to h + 2; column 0 holds the frame before the first hop.
                frame: T.let[T.int32] = T.cast(block, "int32") * _HOPS + column - 1
                nearest: T.let[T.int32] = T.max(T.min(frame, last), 0)
                for frequency in T.serial(BINS):
                    angle[0] = x[0, frequency, nearest]
                    real[frequency] = device_math.exp(angle[0])
                    angle[0] = x[0, BINS + frequency, nearest]
                    angle[1] = device_math.sin(angle[0])
                    imaginary[frequency] = real[frequency] * device_math.sin(angle[1])
                    real[frequency] = real[frequency] * device_math.cos(angle[1])
                _transform_back(real, imaginary, frames, column, frame >= 0 and frame <= last)
                T.tvm_storage_sync("shared")
                if column < _HOPS and frame + 1 < last:
                    _overlap_add(frames, audio, frame + 1, column, last - 1)

    return inverse_stft
