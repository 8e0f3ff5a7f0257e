"""The harmonic source against kokoro's own, on each CPU level of this machine."""

import numpy as np
import pytest
import torch
from kokoro import istftnet
from kokoro.istftnet import SineGen, SourceModuleHnNSF
from numpy.typing import NDArray

from exporter.compiler.kernels import harmonic_source
from tests.support.kernels.on_cpu import Array, assert_threads_change_no_bit, run
from tests.support.paths import KOKORO

every_length = pytest.mark.parametrize("frames", [160, 640, 5120])

RECORDED = KOKORO / "fixtures" / "decoder_inputs_real.npz"
SOURCES = ["synthetic", "recorded"] if RECORDED.exists() else ["synthetic"]
every_source = pytest.mark.parametrize("source", SOURCES)

# The merging layer of the official model.
WEIGHTS = np.array(
    [-0.08154187, -0.18519667, -0.18263398, -0.17837205, -0.09873895,
     0.08264039, 0.08743999, -0.39068547, -0.54774433], np.float32,
)  # fmt: skip
BIAS = np.array([-0.02945026], np.float32)


def f0_of(source: str, frames: int) -> Array:
    """F0 [1, 2 frames]: the recorded one repeated, or speech-like with slightly negative unvoiced parts."""
    if source == "recorded":
        return np.resize(np.load(RECORDED)["f0"][0, :320], (1, 2 * frames))
    random = np.random.default_rng(frames)
    time = np.arange(2 * frames)
    voiced = 190 + 90 * np.sin(time / 31) + 3 * random.standard_normal(time.size)
    unvoiced = -1.5 * random.random(time.size)
    return np.where(time // 13 % 3 < 2, voiced, unvoiced).astype(np.float32)[None]


def noise_of(frames: int) -> Array:
    return np.random.default_rng([1, frames]).standard_normal((1, 600 * frames), np.float32)


def merged(f0: Array, noise: Array, weights: Array = WEIGHTS, bias: Array = BIAS) -> Array:
    return run(harmonic_source.harmonic_source, (), noise.shape, f0, weights, bias, noise)


def voiced_sines(f0: Array) -> Array:
    """The nine sines times 0.1, as float32 products, and zeros where F0 is unvoiced.

    Weights that pick one of them are so small that tanh returns its argument, and a power of two, which
    rounds nothing.
    """
    silence, no_bias, scale = np.zeros((1, 300 * f0.size), np.float32), np.zeros(1, np.float32), 2.0**-40
    picks = np.float32(scale) * np.eye(9, dtype=np.float32)
    return np.concatenate([merged(f0, silence, pick, no_bias) for pick in picks]) / np.float32(scale)


def scaled(sines: NDArray[np.floating], f0: Array) -> Array:
    """Sines as `voiced_sines` returns them."""
    result: Array = np.float32(0.1) * sines.astype(np.float32) * np.repeat(f0 > 10, 300, axis=1)
    return result


def repeated(f0: Array) -> torch.Tensor:
    """F0 as the generator passes it on: [1, samples, 1]."""
    return torch.nn.Upsample(scale_factor=300)(torch.from_numpy(f0)[:, None]).transpose(1, 2)


def kokoro_sines(f0: Array) -> Array:
    harmonics = repeated(f0) * torch.arange(1, 10, dtype=torch.float32)
    return SineGen(24000, 300, harmonic_num=8)._f02sine(harmonics)[0].T.numpy()


def kokoro_merged(f0: Array, noise: Array, monkeypatch: pytest.MonkeyPatch) -> Array:
    source = SourceModuleHnNSF(24000, 300, harmonic_num=8, voiced_threshod=10)
    weights = torch.from_numpy(WEIGHTS)
    source.l_linear.load_state_dict({"weight": weights[None], "bias": torch.from_numpy(BIAS)})
    nine = torch.from_numpy(noise)[..., None] * (weights / weights.norm())
    draws = iter([nine, torch.zeros(1, noise.size, 1)])
    monkeypatch.setattr(torch, "randn_like", lambda like: next(draws))
    with torch.no_grad():
        result: Array = source(repeated(f0))[0][..., 0].numpy()
    return result


def decibels(reference: NDArray[np.floating], value: NDArray[np.floating]) -> float:
    wide = reference.astype(np.float64)
    return float(10 * np.log10(np.sum(wide**2) / np.sum((wide - value) ** 2)))


@every_length
@every_source
def test_sines_differ_from_kokoro_by_the_last_bit_at_most(source: str, frames: int) -> None:
    f0 = f0_of(source, frames)
    reference, ours = scaled(kokoro_sines(f0), f0), voiced_sines(f0)
    # Required are 110 dB; measured are 161 to 163, all of it torch's own rounding of the sine.
    assert decibels(reference, ours) > 155
    assert np.max(np.abs(reference - ours)) <= 2.0**-27
    assert np.mean(reference != ours) < 0.02


@every_source
def test_the_sines_are_of_exactly_the_arguments_that_kokoro_computes(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f0 = f0_of(source, 640)
    ours = voiced_sines(f0)
    monkeypatch.setattr(istftnet.torch, "sin", lambda angle: angle)
    exact = np.sin(kokoro_sines(f0).astype(np.longdouble))
    # Within 0.501 units of the last place: rounded to the nearest, or to the other one close to a tie.
    tie = 0.001 * np.spacing(np.abs(exact.astype(np.float32)))
    assert np.all((ours == scaled(exact - tie, f0)) | (ours == scaled(exact + tie, f0)))


def test_positions_round_to_the_interval_of_their_half_or_to_its_right_end_at_every_length() -> None:
    sample = np.arange(600 * 5120)
    # Exact in float64, so that this rounds once as a fused multiply-add does.
    position = ((sample + 0.5) * np.float64(np.float32(1 / 300)) - 0.5).astype(np.float32)
    left = np.maximum((sample // 150 + 1) // 2 - 1, 0)
    assert set(np.unique(np.floor(np.maximum(position, 0)) - left)) <= {0.0, 1.0}


@pytest.mark.parametrize("frames", [3, 4, 17, 160, 640])
@every_source
def test_the_merged_signal_is_that_of_kokoro_on_equal_noise(
    source: str, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    f0, noise = f0_of(source, frames), noise_of(frames)
    ours = merged(f0, noise)
    reference = kokoro_merged(f0, noise, monkeypatch)
    assert decibels(reference, ours) > 140
    assert np.max(np.abs(reference - ours)) < 1e-7


def test_wholly_unvoiced_f0_leaves_only_noise_and_bias() -> None:
    noise = noise_of(5)
    exact = np.tanh(np.linalg.norm(WEIGHTS.astype(np.float64)) * 0.1 / 3 * noise.astype(np.float64) + BIAS)
    for f0 in (-0.3, 0.0, 10.0):
        ours = merged(np.full((1, 10), f0, np.float32), noise)
        assert np.max(np.abs(ours - exact)) < 1e-7


def test_f0_just_above_the_threshold_is_voiced() -> None:
    f0 = np.full((1, 10), np.nextafter(np.float32(10), np.float32(11)), np.float32)
    silent = np.zeros((1, 3000), np.float32)
    expected = np.tanh(WEIGHTS @ voiced_sines(f0).astype(np.float64) + BIAS)
    assert np.max(np.abs(merged(f0, silent) - expected)) < 1e-7


def test_an_utterance_begins_as_its_beginning_alone_does() -> None:
    f0, noise = f0_of("synthetic", 40), noise_of(40)
    alone = merged(f0[:, :20], noise[:, :6000])
    # The last half of the shorter one has no right neighbour to interpolate to.
    np.testing.assert_array_equal(merged(f0, noise)[:, :5850], alone[:, :5850])


def test_number_of_threads_changes_no_bit() -> None:
    inputs = [(f0_of("synthetic", frames), noise_of(frames)) for frames in (3, 17, 160)]
    assert_threads_change_no_bit(lambda: np.concatenate([merged(f0, noise) for f0, noise in inputs], axis=1))
