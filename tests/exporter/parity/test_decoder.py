"""The decoder's audio beside kokoro's: phases that rounding may turn cost nothing, wrong ones everything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exporter.parity import thresholds
from exporter.parity.decoder import decoded
from exporter.parity.expected import Distances, Spread
from exporter.parity.source_spectrum import exact_spectra, wrong_phases

FRAMES = 6
SOURCE = np.random.default_rng(0).standard_normal((1, 600 * FRAMES)).astype(np.float32)
(MAGNITUDE, PHASE), _ = exact_spectra(SOURCE)
# The signal is mirrored at its edge, so the first spectrum is real but for the rounding of the window.
TURNABLE = [bin for bin in range(1, 10) if PHASE[0, bin, 0] > 3.14]
SPREAD = Spread(600 * FRAMES, 0.2, (Distances(1e-3, 0, 0),) * 3)


def decode(phase: np.ndarray, error: float = 0) -> np.ndarray:
    """Audio, [1, 600 * frames], in which every phase is heard as a number."""
    heard = (MAGNITUDE * phase).sum(axis=1)[:, 1:].repeat(5, axis=1) + phase[:, :, :1].sum(axis=1)
    noise = np.random.default_rng(1).standard_normal(heard.shape)
    return (heard * (1 + error * noise)).astype(np.float32)


class FakeReference:
    """Kokoro, whose source and decoder are those above."""

    def source(self, f0: np.ndarray, noise: np.ndarray) -> Any:
        return SimpleNamespace(source=SOURCE, magnitude=MAGNITUDE, phase=PHASE)

    def decode(self, inputs: dict[str, np.ndarray], spectrum: tuple[np.ndarray, np.ndarray]) -> Any:
        assert (spectrum[0] == MAGNITUDE).all()
        return SimpleNamespace(audio=decode(spectrum[1]))


def judged(phase: np.ndarray, error: float = 0, separate_source: bool = True) -> Any:
    """The judged figure of a bundle whose spectrum has these phases, and whose decoder has an error."""
    inputs = {"f0": np.zeros((1, 2 * FRAMES)), "noise": np.zeros((1, 600 * FRAMES))}
    expected: Any = SimpleNamespace(
        audio=decode(PHASE), decoder_inputs=inputs, f0=inputs["f0"], noise=inputs["noise"]
    )
    spectrum = {"spectrum": np.concatenate([MAGNITUDE, phase], axis=1)}
    bundle: Any = SimpleNamespace(
        arithmetic="float32",
        manifest=SimpleNamespace(separate_source=separate_source),
        stage=lambda name: SimpleNamespace(run=lambda given: spectrum),
    )
    kokoro: Any = SimpleNamespace(reference=FakeReference())
    return decoded(bundle, kokoro, expected, decode(phase, error)).figure(SPREAD)


def turned(*places: tuple[int, int]) -> np.ndarray:
    """Kokoro's phases with the signs of some turned over, by bin and time."""
    phase = PHASE.copy()
    for bin, time in places:
        phase[0, bin, time] *= -1
    return phase


@pytest.mark.parametrize("bin", TURNABLE)
def test_a_phase_that_rounding_may_turn_costs_nothing(bin: int) -> None:
    phase = turned((bin, 0))
    assert not wrong_phases(phase, SOURCE).any()
    figure = judged(phase)
    assert figure.value > 120
    assert figure.holds and figure.limit == thresholds.DECODER_DECIBELS


def test_all_of_them_together_cost_nothing_either() -> None:
    assert len(TURNABLE) > 1
    assert judged(turned(*((bin, 0) for bin in TURNABLE))).value > 120


def test_a_wrong_phase_counts_as_ever() -> None:
    figure = judged(turned((4, 300)))
    assert not figure.holds and figure.value < 60
    both = judged(turned((4, 300), *((bin, 0) for bin in TURNABLE)))
    assert not both.holds and both.value < 60


@pytest.mark.parametrize(("error", "holds"), [(1e-4, True), (1e-3, False)])
def test_turned_phases_hide_no_other_error(error: float, holds: bool) -> None:
    for phase in (PHASE, turned((TURNABLE[0], 0))):
        assert judged(phase, error).holds == holds


def test_where_phases_cannot_be_read_kokoros_own_rounding_of_them_widens_the_limit() -> None:
    figure = judged(turned((TURNABLE[0], 0)), separate_source=False)
    assert figure.limit == thresholds.decoder_limit(SPREAD) == pytest.approx(53.98, abs=0.01)
