"""The figures of rounding, on kokoros that are made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.parity.rounding import Rounding, rounding, rounding_figures
from exporter.reference.traces import ModelInput
from runtime_min.model.distances import log_mel_distance
from runtime_min.model.noise import gaussian_noise
from tests.support.fakes.kokoro_answers import SAID, request_of

FRAMES = np.array([3, 4, 3, 2, 1], np.int64)
CURVE = np.linspace(-5, 400, 2 * int(FRAMES.sum()), dtype=np.float32)[None]
"""Unvoiced at first."""
OTHER = log_mel_distance(*(gaussian_noise(seed, 600 * int(FRAMES.sum()))[None] for seed in (0, 1)))
"""Log-mel distance between two seeds of the noise."""


class Kokoro:
    """Answers as `Reference` does, with another F0, duration of a token and loudness."""

    def __init__(self, cents: float = 0.0, longer: float = 0.0, gain: float = 1.0) -> None:
        self.f0 = CURVE * np.float32(2 ** (cents / 1200))
        # Spoken at speed 2, so these are halved and rounded.
        self.durations = 2 * (FRAMES + np.array([0, longer, 0, 0, 0]))[None].astype(np.float32)
        self.gain = np.float32(gain)

    def speak(self, request: ModelInput) -> Any:
        noise = gaussian_noise(request.seed, 600 * int(FRAMES.sum()))
        parts = {"asr": np.zeros((1, 512, int(FRAMES.sum()))), "energy": self.f0}
        audio = self.decode({"noise": noise}).audio
        return SimpleNamespace(f0=self.f0, frames=FRAMES, audio=audio, **parts)

    def text(self, request: ModelInput) -> Any:
        return SimpleNamespace(durations=self.durations, encoding=np.zeros((1, 640, FRAMES.size)))

    def f0n(self, aligned_encoding: Any, prosody_style: Any) -> Any:
        assert aligned_encoding.shape[2] == FRAMES.sum()
        return self.f0, self.f0

    def decode(self, inputs: Any) -> Any:
        return SimpleNamespace(audio=self.gain * inputs["noise"].reshape(1, -1))


def measured(rounded: Kokoro) -> Rounding:
    original: Any = Kokoro()
    request = request_of(SAID, speed=2.0)
    return rounding(original, rounded, request, rounded.text(request), OTHER)  # type: ignore[arg-type]


def test_weights_that_rounding_leaves_change_nothing() -> None:
    found = measured(Kokoro())
    assert not found.cents.any() and not found.moved.any()
    assert (found.decibels, found.log_mel) == (np.inf, 0)
    assert all(figure.holds for figure in rounding_figures([found], "float16"))


def test_each_distance_is_that_of_its_own_part() -> None:
    pitch, length, loudness = Kokoro(cents=7), Kokoro(longer=0.6), Kokoro(gain=1.01)
    found = measured(pitch)
    assert found.cents.size == (CURVE > 10).sum()
    np.testing.assert_allclose(found.cents, 7, atol=0.01)
    assert list(measured(length).moved) == [False, True, False, False, False]
    assert not measured(Kokoro(longer=0.4)).moved.any()
    assert measured(loudness).decibels == pytest.approx(40, abs=0.01)
    assert 0 < measured(loudness).log_mel < 0.1


@pytest.mark.parametrize(
    ("rounded", "missed"),
    [
        (Kokoro(cents=4), "F0, median cents"),
        (Kokoro(longer=1), "durations that move"),
        (Kokoro(gain=1.02), "decoder, dB"),
        (Kokoro(gain=np.nan), "decoder, dB"),
        (Kokoro(cents=np.nan), "F0, median cents"),
    ],
)
def test_too_much_of_one_of_them_misses_its_limit(rounded: Kokoro, missed: str) -> None:
    found = [measured(Kokoro()), measured(rounded), measured(rounded)]
    figures = rounding_figures(found, "float16")
    assert next(figure.name for figure in figures if not figure.holds) == missed


def test_int8_may_be_heard_as_a_quarter_of_other_noise() -> None:
    found = measured(Kokoro(gain=1.02))
    assert not rounding_figures([found], "float16")[0].holds
    assert all(figure.holds for figure in rounding_figures([found], "int8"))


@given(decibels=st.lists(st.floats(0, 200), min_size=1), log_mel=st.floats(0, 10))
def test_of_the_decoders_figures_the_worst_counts(decibels: list[float], log_mel: float) -> None:
    empty = np.zeros(0)
    found = [Rounding(empty, np.zeros(3, bool), each, log_mel / 2) for each in decibels]
    figures = {
        each.name: each.value
        for each in rounding_figures([*found, Rounding(empty, np.ones(3, bool), 200, log_mel)], "int8")
    }
    assert figures["decoder, dB"] == min(decibels)
    assert figures["decoder, log-mel over another seed's"] == log_mel
    assert figures["durations that move"] == pytest.approx(1 / (len(decibels) + 1))
