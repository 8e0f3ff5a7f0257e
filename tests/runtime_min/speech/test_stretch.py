"""Stretched speech has the length that its speed promises, and keeps its pitch, level and sounds."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from runtime_min.speech.stretch import FASTEST, SLOWEST, model_speed, stretch

SPEEDS = (0.25, 0.5, 0.59, 1.11, 1.5, 2.0, 3.0, 4.0)


def voiced(seconds: float, pitch: float) -> NDArray[np.float32]:
    times = np.arange(int(24_000 * seconds)) / 24_000
    return (0.1 * sum(np.sin(2 * np.pi * pitch * k * times) / k for k in range(1, 8))).astype(np.float32)


def atempo(samples: NDArray[np.float32], speed: float) -> NDArray[np.float32]:
    """Returns what FFmpeg makes of samples."""
    graph = av.filter.Graph()
    base = Fraction(1, 24_000)
    source = graph.add_abuffer(sample_rate=24_000, format="flt", layout="mono", time_base=base)
    tempo, sink = graph.add("atempo", str(speed)), graph.add("abuffersink")
    source.link_to(tempo)
    tempo.link_to(sink)
    graph.configure()
    frame = av.AudioFrame.from_ndarray(samples[np.newaxis], "flt", "mono")
    frame.sample_rate, frame.pts, frame.time_base = 24_000, 0, base
    graph.push(frame)
    source.push(None)
    found = []
    while True:
        try:
            found.append(graph.pull().to_ndarray()[0])
        except (av.EOFError, av.BlockingIOError):
            return np.concatenate(found)


def strongest(samples: NDArray[np.float32]) -> float:
    """Returns the frequency of the strongest tone, in Hz."""
    inside = samples[1_000:-1_000]
    spectrum = np.abs(np.fft.rfft(inside * np.hanning(len(inside)), 1 << 18))
    return float(spectrum.argmax() * 24_000 / (1 << 18))


def rms(samples: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(samples[1_000:-1_000].astype(np.float64) ** 2)))


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("pitch", [70, 120, 233])
def test_length_pitch_and_level_are_kept(speed: float, pitch: float) -> None:
    samples = voiced(2, pitch)
    found = stretch(samples, speed)
    assert found.dtype == np.float32
    assert len(found) == round(len(samples) / speed)
    assert abs(strongest(found) / pitch - 1) < 0.01
    assert abs(20 * np.log10(rms(found) / rms(samples))) < 0.5


@pytest.mark.parametrize("speed", [0.5, 1.5, 2.0])
def test_the_envelope_is_that_of_ffmpeg(speed: float) -> None:
    times = np.arange(48_000)
    samples = voiced(2, 120) * (1.01 + np.sin(2 * np.pi * 3 * times / 24_000)).astype(np.float32)
    ours, theirs = stretch(samples, speed), atempo(samples, speed)
    assert abs(len(theirs) / len(ours) - 1) < 0.02
    count = min(len(ours), len(theirs)) // 1_200
    levels = [np.abs(each[: 1_200 * count].reshape(count, 1_200)).mean(axis=1) for each in (ours, theirs)]
    assert np.corrcoef(*levels)[0, 1] > 0.9


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("count", [1_800, 1_801, 24_001])
def test_any_length_is_stretched(speed: float, count: int) -> None:
    noise = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    found = stretch(noise, speed)
    assert len(found) == round(count / speed)
    assert np.isfinite(found).all()
    assert not stretch(np.zeros(count, np.float32), speed).any()


def test_the_model_keeps_the_speeds_of_its_range() -> None:
    assert [model_speed(speed) for speed in (SLOWEST, 1.0, FASTEST)] == [SLOWEST, 1.0, FASTEST]
    assert [model_speed(speed) for speed in (0.25, 0.59, 1.11, 4.0)] == [1.0] * 4
