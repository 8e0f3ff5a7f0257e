"""The judge: limits by kokoro's spread, verdicts by as few changes as decide, and waveforms."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.parity import figures, thresholds
from exporter.parity.decoder import Decoded
from exporter.parity.expected import CHANGES, Distances, Expected, Spread, distances
from exporter.parity.figures import Comparison, chain_figures, duration_figures, judge, spread_figures
from exporter.parity.thresholds import NEAR_A_HALF
from exporter.parity.waveforms import compare_waveforms
from exporter.reference.utterances import Utterance
from runtime_min.errors import ModelOutputError
from tests.support.fakes.kokoro_answers import answer_of

SAID = Utterance("abc", "af_heart", seed=7)
FRAMES = np.array([3, 4, 3], np.int64)
SPREAD = Spread(6000, 0.2, (Distances(0.01, 0.02, 0.001),))

sizes = st.floats(1e-6, 10)
changes = st.builds(Distances, sizes, sizes, sizes)


def spreads(samples: int, other_seed: float, made: tuple[Distances, ...]) -> Iterator[Spread]:
    return (Spread(samples, other_seed, made[:number]) for number in range(len(made) + 1))


class TestSpread:
    @given(
        samples=st.integers(600, 100_000),
        other_seed=sizes,
        made=st.tuples(*[changes] * len(CHANGES)),
        chain=changes,
        decoder=st.none() | st.builds(Decoded, st.floats(-20, 120), st.booleans()),
    )
    def test_fewer_changes_never_change_the_verdict(
        self,
        samples: int,
        other_seed: float,
        made: tuple[Distances, ...],
        chain: Distances,
        decoder: Decoded | None,
    ) -> None:
        def judged(spread: Spread) -> Any:
            return spread_figures(decoder, chain, spread)

        *_, last = spreads(samples, other_seed, made)
        whole = tuple(judged(last))
        found, drawn = judge(spreads(samples, other_seed, made), judged)
        assert all(each.holds for each in found) == all(each.holds for each in whole)
        if not all(each.holds for each in found):
            assert (found, drawn) == (whole, len(CHANGES))

    def test_an_equal_bundle_needs_no_change_and_a_wrong_one_all_of_them(self) -> None:
        made = (Distances(0.01, 0.02, 0.001),) * len(CHANGES)
        for chain, count in (
            (Distances(0, 0, 0), 0),
            (Distances(0.019, 0.01, 0), 1),
            (Distances(1, 1, 0), 11),
        ):
            found, drawn = judge(
                spreads(600, 0.2, made), lambda spread, chain=chain: chain_figures(chain, spread)
            )
            assert drawn == count
            assert all(each.holds for each in found) == (count < len(CHANGES))

    def test_the_typical_white_change_is_the_median_and_in_short_utterances_the_greatest(self) -> None:
        white = tuple(Distances(size, size, size) for size in (1, 2, 3, 4, 5, 6, 7, 8))
        others = (Distances(0, 0, 0),) * 3
        assert Spread(24_000, 1, (*others, *white)).rms == 4.5
        assert Spread(23_999, 1, (*others, *white)).mel == 8
        assert Spread(24_000, 1, (Distances(9, 9, 9), *others[1:], *white)).level == 9

    def test_the_decoders_limit_follows_the_rounding_of_the_source(self) -> None:
        quiet, loud = Distances(1e-4, 0, 0), Distances(10 ** (-50 / 20), 0, 0)
        assert thresholds.decoder_limit(Spread(600, 1, (quiet, quiet, quiet))) == 70
        assert thresholds.decoder_limit(Spread(600, 1, (quiet, quiet, loud))) == pytest.approx(
            43.98, abs=0.01
        )

    @given(made=st.tuples(*[changes] * len(CHANGES)), other_seed=sizes)
    def test_an_arithmetic_widens_every_limit_by_what_it_may_add(
        self, made: tuple[Distances, ...], other_seed: float
    ) -> None:
        spread, allowed = Spread(24_000, other_seed, made), thresholds.ALLOWANCES["bfloat16"]
        assert thresholds.ALLOWANCES["float32"] == thresholds.EXACT
        for limit in (thresholds.decoder_limit, thresholds.chain_limit):
            exact, wide = (10 ** (-limit(spread, each) / 20) for each in (thresholds.EXACT, allowed))
            assert wide == pytest.approx(exact + allowed.rms)
        assert thresholds.mel_limit(spread, allowed) == pytest.approx(thresholds.mel_limit(spread) + 0.6)
        assert thresholds.level_limit(spread, allowed) == pytest.approx(thresholds.level_limit(spread) + 0.05)

    def test_a_bundle_that_rounds_more_than_its_arithmetic_may_is_refused(self) -> None:
        spread, allowed = Spread(600, 1, (Distances(0.001, 0, 0),)), thresholds.ALLOWANCES["bfloat16"]
        for rms, holds in ((0.08, True), (0.09, False)):
            found = chain_figures(Distances(rms, 0.5, 0.01), spread, allowed)
            assert all(figure.holds for figure in found) == holds
            assert not all(figure.holds for figure in chain_figures(Distances(rms, 0.5, 0.01), spread))

    def test_the_level_may_be_a_tenth_of_a_decibel_off_or_twice_the_own_spread(self) -> None:
        assert thresholds.level_limit(SPREAD) == 0.1
        assert thresholds.level_limit(Spread(600, 1, (Distances(0, 0, 0.2),))) == 0.4


def durations(
    spoken: list[int], unrounded: list[float], speed: float = 1.0, forced: bool = False
) -> tuple[Any, Any]:
    """Both figures for these durations of ours and those of kokoro before rounding."""
    values = np.array([unrounded], np.float32)
    frames = np.maximum(np.rint(values[0] / np.float32(speed)), 1).astype(np.int64)
    expected: Any = SimpleNamespace(durations=values, frames=frames, request=SimpleNamespace(speed=speed))
    return duration_figures(np.array(spoken), expected, forced)


class TestDurations:
    def test_equal_ones_hold(self) -> None:
        differ, other_way = durations([3, 1, 7], [3.2, 0.1, 6.9])
        assert differ.value == other_way.value == 0
        assert differ.holds and other_way.holds

    @given(whole=st.integers(1, 40), far=st.floats(2 * NEAR_A_HALF, 0.49), up=st.booleans())
    def test_one_far_from_a_half_may_not_differ(self, whole: int, far: float, up: bool) -> None:
        differ, other_way = durations([whole if up else whole + 1], [whole + 0.5 + (far if up else -far)])
        assert differ.value == 1 and not differ.holds
        assert other_way.value == 0

    @given(whole=st.integers(1, 40), near=st.floats(0, NEAR_A_HALF / 2), ours=st.sampled_from([0, 1]))
    def test_one_near_a_half_may_round_either_way(self, whole: int, near: float, ours: int) -> None:
        differ, other_way = durations([whole + ours], [whole + 0.5 + near])
        assert differ.holds and other_way.holds
        assert other_way.value <= other_way.limit == 1

    @pytest.mark.parametrize("spoken", [1, 5])
    def test_one_near_a_half_may_not_differ_by_more_than_one(self, spoken: int) -> None:
        assert not durations([spoken], [2.50001])[0].holds

    def test_halves_are_judged_after_the_speed(self) -> None:
        assert durations([2], [5.0], speed=2.0)[0].holds
        assert durations([3], [5.0], speed=2.0)[0].holds
        assert not durations([2], [2.5], speed=0.5)[0].holds

    def test_forced_ones_have_to_be_equal(self) -> None:
        differ, other_way = durations([3], [2.5], forced=True)
        assert not differ.holds
        assert other_way.value == 0


def signal(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((1, 600 * int(FRAMES.sum())), np.float32)


def beside(distance: float) -> np.ndarray:
    """Kokoro's audio, off by this share of its RMS."""
    return (signal() + np.float32(distance) * signal(seed=1)).astype(np.float32)


def level(name: str, audio: np.ndarray | None, durations: np.ndarray = FRAMES) -> Any:
    """A bundle on one CPU level that says `audio`; None stands for durations that are no numbers."""

    def trace(phonemes: str, voice: str, speed: float, seed: int, durations: Any = None) -> Any:
        if audio is None:
            raise ModelOutputError("not finite")
        durations = predicted if durations is None else durations
        return SimpleNamespace(audio=audio[:, : 600 * int(durations.sum())], durations=durations)

    predicted = durations
    return SimpleNamespace(level=SimpleNamespace(name=name), arithmetic="float32", trace=trace)


class FakeKokoro:
    """Answers every request with one signal; the second duration is next to a half."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def expected(self, request: Any) -> Expected:
        self.asked.append(request)
        unrounded = FRAMES[None].astype(np.float32) + np.array([[0, 0.499995, 0]], np.float32)
        return answer_of(SAID, frames=FRAMES, durations=unrounded, audio=signal())

    def spreads(self, expected: Expected) -> Iterator[Spread]:
        return spreads(SPREAD.samples, SPREAD.other_seed, SPREAD.changes)


@pytest.fixture
def kokoro(monkeypatch: pytest.MonkeyPatch) -> FakeKokoro:
    monkeypatch.setattr(figures, "request_for", lambda bundle, utterance, durations: utterance)
    return FakeKokoro()


def compared(kokoro: Any, *bundles: Any, said: tuple[Utterance, ...] = (SAID,)) -> tuple[Comparison, ...]:
    return compare_waveforms(bundles, kokoro, said)


def missed(comparison: Comparison) -> list[str]:
    return [figure.name for figure in comparison.missed]


class TestWaveforms:
    def test_what_kokoro_says_holds(self, kokoro: FakeKokoro) -> None:
        (comparison,) = compared(kokoro, level("v4", signal()))
        assert comparison.holds
        assert (comparison.frames, comparison.level) == (FRAMES.sum(), "v4")
        assert len(comparison.figures) == 7

    @pytest.mark.parametrize("distance", [1e-4, 0.0099, 0.0199, 0.0201, 0.2])
    def test_it_holds_up_to_twice_the_own_spread(self, kokoro: FakeKokoro, distance: float) -> None:
        (comparison,) = compared(kokoro, level("v4", beside(distance)))
        off = distances(beside(distance), signal()).rms
        assert ("chain, dB" in missed(comparison)) == (off > 2 * SPREAD.rms)
        assert ("chain, distance over own spread" in missed(comparison)) == (off > 2 * SPREAD.rms)

    def test_a_louder_bundle_misses_the_level(self, kokoro: FakeKokoro) -> None:
        (comparison,) = compared(kokoro, level("v4", signal() * np.float32(10 ** (0.15 / 20))))
        assert "level, dB off" in missed(comparison)

    def test_other_durations_are_missed_and_nothing_else_is_judged(self, kokoro: FakeKokoro) -> None:
        (comparison,) = compared(kokoro, level("v4", beside(0), np.array([2, 4, 2])))
        assert missed(comparison) == ["durations that differ"]
        assert len(comparison.figures) == 3

    def test_a_half_that_rounds_the_other_way_is_judged_with_kokoros_durations(
        self, kokoro: FakeKokoro
    ) -> None:
        longer = np.concatenate([signal(), signal()], axis=1)
        (comparison,) = compared(kokoro, level("v4", longer, np.array([3, 5, 3])))
        assert comparison.holds
        assert len(comparison.figures) == 7

    def test_what_is_not_finite_is_missed_on_that_level_alone(self, kokoro: FakeKokoro) -> None:
        broken_signal = signal()
        broken_signal[0, 5] = np.nan
        sound, broken, silent = compared(
            kokoro, level("v4", signal()), level("v3", broken_signal), level("v2", None)
        )
        assert sound.holds
        assert missed(broken) == missed(silent) == ["samples are numbers"]

    def test_every_utterance_is_compared_on_every_level(self, kokoro: FakeKokoro) -> None:
        other = Utterance("b", "am_adam", speed=0.5)
        told: list[str] = []
        bundles: Any = (level("v4", signal()), level("v3", beside(0.5)))
        answering: Any = kokoro
        found = compare_waveforms(bundles, answering, (SAID, other), told.append)
        assert [(each.utterance, each.level, each.holds) for each in found] == [
            *((SAID, "v4", True), (SAID, "v3", False)),
            *((other, "v4", True), (other, "v3", False)),
        ]
        assert len(told) == 2
        assert told[1] == "utterance 2 of 2: am_adam, 1 phonemes, speed 0.5"
