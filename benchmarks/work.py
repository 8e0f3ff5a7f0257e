"""The operations and bytes of a call of a kernel, counted from the shapes of its arguments.

A multiply-add is two operations, an elementary function is one. Convolutions, matrix products, attention and
the recurrence are counted as torch's FlopCounter counts them: products and their sums, nothing for bias,
activation and residual, and a convolution as the direct one, however the kernel computes it. Output channels
that fill up a block count. A family that is not in `_COUNTS` is reported as not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exporter.compiler.kernels import winograd_in_call
from exporter.compiler.kernels.convolution import Convolution
from exporter.compiler.kernels.winograd_schemes import SCHEMES
from exporter.measure.profile import RUNTIME, family_of
from exporter.measure.results import Tensors
from runtime_min.format.signatures import HARMONICS

Shape = tuple[int, ...]
Count = Callable[[str, Sequence[Shape]], tuple[float, float]]
"""Takes a kernel's name and its arguments' shapes, returns operations and the multiplications really made."""

_TAPS, _BINS = 20, 11


@dataclass(frozen=True)
class Work:
    """The work of one call of a kernel, or of several."""

    flop: float | None
    """Operations of the direct computation; None if the family is unknown."""
    real_multiplications: float
    """Half of `flop` unless a transform saves some."""
    bytes: float
    """Size of every argument of each call; only the rows of a table that are looked up count."""


def work_of(name: str, arguments: Tensors) -> Work:
    """Returns the work of a call.

    Args:
        name: name of the kernel within its library.
        arguments: the tensors of the call, the output last.
    """
    kind = family_of(name)
    if kind == RUNTIME:
        return Work(0.0, 0.0, 0.0)
    shapes = [shape for shape, _ in arguments]
    touched = [math.prod(shape) * size for shape, size in arguments]
    if kind == "embedding":
        # As much of the tables is read as is written.
        looked_up = sum(len(shape) == 2 for shape in shapes[1:3])
        moved = touched[0] + (looked_up + 1) * touched[-1]
    elif kind == "fused_strided_slice_squeeze":
        moved = 2 * touched[-1]
    else:
        moved = sum(touched)
    count = _COUNTS.get(kind)
    if count is None:
        return Work(None, 0.0, float(moved))
    flop, multiplications = count(name, shapes)
    return Work(flop, multiplications, float(moved))


def _products(multiply_adds: float) -> tuple[float, float]:
    return 2.0 * multiply_adds, float(multiply_adds)


def _conv1d(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Takes an input, a weight [out/32, in, taps, 32], ..., an output [1, out, time] or [1, time, out]."""
    blocks, inputs, taps, channels = shapes[1]
    outputs = blocks * channels
    steps = math.prod(shapes[-1]) // outputs
    flop, multiplications = _products(math.prod(shapes[1]) * steps)
    if winograd_in_call.suits(Convolution(outputs, inputs, taps)) and steps >= winograd_in_call.FEWEST:
        scheme = SCHEMES[taps]
        multiplications = float(inputs * outputs * scheme.products * math.ceil(steps / scheme.outputs))
    return flop, multiplications


def _winograd(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Takes an input, a weight [out/32, products, in, 32] and an output in either order of axes."""
    channels_out = shapes[1][0] * shapes[1][3]
    time = math.prod(shapes[-1]) // channels_out
    taps = int(name.split("_")[2])
    flop, _ = _products(shapes[0][2] * channels_out * taps * time)
    return flop, float(math.prod(shapes[1]) * math.ceil(time / SCHEMES[taps].outputs))


def _adain_affine(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts a sum, two sums of deviations, and the linear layer of fc_weight [2 channels, style]."""
    flop, multiplications = _products(math.prod(shapes[2]))
    elements = math.prod(shapes[0])
    return flop + 5.0 * elements, multiplications + elements


def _layer_norm(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts sum and subtraction of the mean, twice; a sum of squares, two factors and an addend."""
    elements = math.prod(shapes[0])
    return 9.0 * elements, 3.0 * elements


def _attention(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts the products of queries with keys and of scores with values [1, hidden, time]."""
    _, hidden, time = shapes[-1]
    return _products(2 * hidden * time * time)


def _lstm(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Takes gates, the recurrent weights of both directions, and states [1, 2 hidden, time]."""
    return _products(math.prod(shapes[1]) * shapes[-1][2])


def _harmonic_source(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts noise (2), bias and tanh; for each harmonic interpolation (4), sine, amplitude, weight (2)."""
    samples = math.prod(shapes[-1])
    return (8.0 * HARMONICS + 4) * samples, (4.0 * HARMONICS + 1) * samples


def _source_spectrum(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts a direct transform of 20 taps to 11 complex bins; for each bin its magnitude (4) and angle."""
    spectra = shapes[-1][2]
    products = 2 * _BINS * _TAPS * spectra
    return 2.0 * products + 5.0 * _BINS * spectra, products + 2.0 * _BINS * spectra


def _inverse_stft(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts exp, two sin, cos and two products for a bin; a direct transform of 11 bins to 20 taps."""
    spectra = shapes[0][2]
    products = 2 * _BINS * _TAPS * spectra
    return 2.0 * products + 6.0 * _BINS * spectra, products + 2.0 * _BINS * spectra


def _upsample_pool(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts a transposed convolution of three taps for each channel of the input [1, channels, time]."""
    return _products(3 * math.prod(shapes[0]))


def _halve(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts a convolution of one channel with three taps."""
    return _products(3 * math.prod(shapes[-1]))


def _embedding(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts an addition where there are positions; without them that table has the shape [1]."""
    return float(math.prod(shapes[-1]) * (len(shapes[2]) == 2)), 0.0


def _additions(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts one addition for each element of the output."""
    return float(math.prod(shapes[-1])), 0.0


def _moves(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts nothing, because the kernel only moves numbers."""
    return 0.0, 0.0


def _sigmoid_sum(name: str, shapes: Sequence[Shape]) -> tuple[float, float]:
    """Counts a sigmoid and an addition for each element of the input."""
    return 2.0 * math.prod(shapes[0]), 0.0


_COUNTS: dict[str, Count] = {
    "conv1d": _conv1d,
    "winograd": _winograd,
    "adain_affine": _adain_affine,
    "layer_norm": _layer_norm,
    "adaptive_layer_norm": _layer_norm,
    "attention": _attention,
    "lstm": _lstm,
    "harmonic_source": _harmonic_source,
    "source_spectrum": _source_spectrum,
    "inverse_stft": _inverse_stft,
    "upsample_pool": _upsample_pool,
    "halve": _halve,
    "embedding": _embedding,
    "interleave": _additions,
    "fold": _moves,
    # What TVM generates itself.
    "concatenate": _moves,
    "expand_dims": _moves,
    "squeeze": _moves,
    "fused_expand_dims_broadcast_to": _moves,
    "fused_strided_slice_squeeze": _moves,
    "fused_strided_slice_tir_sigmoid_sum": _sigmoid_sum,
}
EFFECTIVE = frozenset({"winograd"})
"""Families that make fewer multiplications than the direct computation that is counted."""
COUNTED = frozenset(_COUNTS)
"""Families of kernels whose operations are counted."""
