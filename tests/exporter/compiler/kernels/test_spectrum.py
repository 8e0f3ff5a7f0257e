"""Both Fourier transforms against torch's, on each CPU level of this machine."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from exporter.compiler.kernels import spectrum
from tests.support.kernels.on_cpu import Array, assert_threads_change_no_bit, run

every_length = pytest.mark.parametrize("frames", [3, 4, 17, 160])
WINDOW = torch.hann_window(20)


def forward(source: Array) -> Array:
    return run(spectrum.source_spectrum, (), (1, 22, source.size // 5 + 1), source)


def inverse(x: Array) -> Array:
    return run(spectrum.inverse_stft, (x.shape[1],), (1, 5 * (x.shape[2] - 1)), x)


def signal(frames: int) -> Array:
    """A signal like the harmonic source's: a few harmonics of a moving pitch in a little noise."""
    random = np.random.default_rng(frames)
    time = np.arange(600 * frames)
    phase = np.cumsum(0.05 + 0.02 * np.sin(time / 3000))
    harmonics = sum(np.sin(k * phase + k) / k for k in range(1, 10))
    return np.tanh(0.1 * harmonics + 0.01 * random.standard_normal(time.size)).astype(np.float32)[None]


def generator_output(frames: int, channels: int = 22) -> Array:
    random = np.random.default_rng([2, frames])
    return random.standard_normal((1, channels, 120 * frames + 1), np.float32)


def torch_forward(source: Array) -> NDArray[np.complex64]:
    result: NDArray[np.complex64] = torch.stft(
        torch.from_numpy(source), 20, 5, 20, window=WINDOW, return_complex=True
    )[0].numpy()
    return result


def torch_inverse(x: Array) -> Array:
    y = torch.from_numpy(x)
    spectra = torch.exp(y[:, :11]) * torch.exp(1j * torch.sin(y[:, 11:22]))
    return torch.istft(spectra, 20, 5, 20, window=WINDOW).numpy()


def decibels(reference: NDArray[np.inexact], value: NDArray[np.inexact]) -> float:
    wide = reference.astype(np.complex128)
    return float(10 * np.log10(np.sum(np.abs(wide) ** 2) / np.sum(np.abs(wide - value) ** 2)))


def test_the_window_is_torchs_to_the_bit() -> None:
    np.testing.assert_array_equal(np.array(spectrum.HANN, np.float32), WINDOW.numpy())


@every_length
def test_magnitudes_and_angles_are_those_of_torch(frames: int) -> None:
    source = signal(frames)
    reference = torch_forward(source)
    magnitude, angle = np.split(forward(source)[0].astype(np.float64), 2)
    assert decibels(np.abs(reference), magnitude) > 140
    assert decibels(reference, magnitude * np.exp(1j * angle)) > 138
    # Where torch's own rounding cannot turn the angle, it is the same without any multiple of 2 pi.
    clear = (np.abs(reference) > 1e-2) & ((np.abs(reference.imag) > 1e-5) | (reference.imag == 0))
    clear[:, 0] = False
    assert np.max(np.abs(np.angle(reference) - angle)[clear]) < 2e-5


def test_the_first_angles_follow_from_the_windows_own_rounding() -> None:
    for frames in (3, 4, 5, 6):
        source = signal(frames)
        windowed = np.concatenate([source[0, 10:0:-1], source[0, :10]]) * WINDOW.numpy()
        exact = np.fft.rfft(windowed.astype(np.float64))
        angle = forward(source)[0, 11:, 0]
        # All imaginary parts are nearly zero here: their signs decide between +pi and -pi.
        assert np.max(np.abs(angle - np.angle(exact))[1:10]) < 1e-5


@every_length
def test_angles_of_the_first_and_last_bin_are_zero_or_plus_pi(frames: int) -> None:
    ends = forward(signal(frames))[0, [11, 21]]
    assert set(ends.view(np.int32).reshape(-1)) == set(np.array([0, np.pi], np.float32).view(np.int32))


def test_silence_has_magnitudes_and_angles_of_zero() -> None:
    silence = np.zeros((1, 1800), np.float32)
    assert not forward(silence).any()


@every_length
@pytest.mark.parametrize("channels", [22, 24])
def test_audio_is_that_of_torch(frames: int, channels: int) -> None:
    x = generator_output(frames, channels)
    x[:, 22:] = np.nan
    reference, audio = torch_inverse(x), inverse(x)
    assert decibels(reference, audio) > 132
    assert np.max(np.abs(reference - audio)) < 3e-6


def test_audio_is_that_of_torch_at_both_edges() -> None:
    x = generator_output(3)
    error = np.abs(torch_inverse(x) - inverse(x))
    assert np.max(error[:, :10]) < 1e-6
    assert np.max(error[:, -10:]) < 1e-6


def test_the_inverse_transform_undoes_the_forward_one() -> None:
    source = signal(17)
    magnitude, angle = np.split(forward(source), 2, axis=1)
    # The inverse takes sines of its angles, which reach 1 radian only: turn spectra that lie within it.
    x = np.concatenate([np.log(magnitude), np.arcsin(np.clip(angle, -1, 1))], axis=1)
    expected = torch.istft(
        torch.from_numpy(magnitude * np.exp(1j * np.clip(angle, -1, 1))), 20, 5, 20, window=WINDOW
    )
    assert decibels(expected.numpy(), inverse(x)) > 125


def test_imaginary_parts_of_the_first_and_last_bin_do_not_sound() -> None:
    x = generator_output(3)
    mirrored = x.copy()
    mirrored[:, [11, 21]] *= -1
    np.testing.assert_array_equal(inverse(x), inverse(mirrored))


def test_fewer_channels_than_bins_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 22 channels, found 21"):
        spectrum.inverse_stft(21)


def both_results() -> Array:
    results = [
        result.reshape(-1)
        for frames in (3, 17, 160)
        for result in (forward(signal(frames)), inverse(generator_output(frames)))
    ]
    return np.concatenate(results)


def test_number_of_threads_changes_no_bit() -> None:
    assert_threads_change_no_bit(both_results)
