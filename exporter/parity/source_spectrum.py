"""The harmonic source's spectrum without the rounding of torch's FFT, and phases held against it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exporter.reference.traces import Array
from runtime_min.model.distances import Figure

Spectrum = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Magnitude and phase of the harmonic source, [1, 11, 120m + 1] each."""


def exact_spectra(source: Array) -> tuple[Spectrum, Spectrum]:
    """Returns the result of torch.stft with an exact FFT, and the same spectrum with one phase turned over.

    The phase is the one nearest to the cut at pi (in the first and the last bin: to changing between 0 and
    pi). Rounding decides on which side it falls; what that costs is the least that two programs differ by.

    Args:
        source: the merged harmonic source in float32, [1, 600 * frames].
    """
    spectrum = _source_spectrum(source, np.float64)
    magnitude, phase = np.abs(spectrum), np.angle(spectrum)
    margin = np.where(spectrum.real < 0, np.abs(spectrum.imag), np.inf)
    margin[:, [0, -1]] = np.abs(spectrum.real[:, [0, -1]])
    nearest = np.unravel_index(np.argmin(margin), margin.shape)
    turned = phase.copy()
    turned[nearest] = -phase[nearest] if 0 < nearest[1] < phase.shape[1] - 1 else np.pi - phase[nearest]
    size = magnitude.astype(np.float32)
    return (size, phase.astype(np.float32)), (size, turned.astype(np.float32))


def _source_spectrum(
    source: Array, precision: type[np.floating[Any]]
) -> NDArray[np.complexfloating[Any, Any]]:
    """Returns the STFT of the harmonic source as kokoro calls it, [1, 11, 120m + 1], float32 or float64."""
    import torch

    dtype = torch.float64 if precision is np.float64 else torch.float32
    window = torch.hann_window(20).to(dtype)  # rounded to float32, as TorchSTFT has it
    signal = torch.from_numpy(source).to(dtype)
    spectrum: NDArray[np.complexfloating[Any, Any]] = torch.stft(
        signal, 20, 5, 20, window, return_complex=True
    ).numpy()
    return spectrum


def phase_figure(phase: Array, source: Array) -> Figure:
    """Counts the wrong phases of the source's spectrum; arguments are those of `wrong_phases`."""
    return Figure("phases on the wrong side of the cut", float(wrong_phases(phase, source).sum()), 0)


def wrong_phases(phase: Array, source: Array) -> NDArray[np.bool_]:
    """Returns which phases of the source's spectrum no exact phase rounds to, [1, 11, 120 * frames + 1].

    Within twice the rounding of torch's own FFT around a spectrum's value, every angle is as good as another;
    where that touches the cut at pi, either side is. The first and the last bin are real: 0 or +pi, not -pi.

    Args:
        phase: phases in radians, [1, 11, 120 * frames + 1].
        source: the signal of the spectrum, [1, 600 * frames].
    """
    exact = _source_spectrum(source, np.float64)
    radius = 2 * float(np.abs(_source_spectrum(source, np.float32) - exact).max())
    free = np.arcsin(np.minimum(1, radius / np.maximum(np.abs(exact), radius))) + np.spacing(np.float32(4))
    off = np.abs(phase - np.angle(exact))
    near_cut = (np.abs(exact.imag) <= radius) & (exact.real < radius)
    wrong: NDArray[np.bool_] = np.where(near_cut, np.minimum(off, 2 * np.pi - off), off) > free
    ends = [0, -1]
    turnable = np.abs(exact.real[:, ends]) <= radius
    allowed = np.where(exact.real[:, ends] < 0, np.float32(np.pi), 0)
    is_either = (phase[:, ends] == 0) | (phase[:, ends] == np.float32(np.pi))
    wrong[:, ends] = ~((phase[:, ends] == allowed) | (turnable & is_either))
    return wrong
