"""Statistics of a comparison, its goals, and the order in which engines speak."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.goals import Goal, goals
from benchmarks.interleaved import ENOUGH, Idleness, interleave
from benchmarks.results import ENGINES, growth, ratio, rotated
from exporter.measure.engine import Spoken
from exporter.measure.results import Timing
from tests.support.fakes.benchmark_results import RATES, comparison

positive = st.floats(1e-3, 1e3)
times = st.lists(positive, min_size=1, max_size=9).map(tuple)


def test_a_ratio_of_what_was_not_measured_is_none():
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(None, 4.0) is None
    assert ratio(1.0, None) is None


@given(times, positive, positive)
def test_growth_is_one_where_time_follows_the_audio(seconds, audio, factor):
    short = Timing("bundle", 2, 62, audio, seconds)
    long = Timing("bundle", 2, 450, audio * factor, tuple(factor * value for value in seconds))
    assert growth(short, long) == pytest.approx(1)
    twice = Timing("bundle", 2, 450, audio * factor, tuple(2 * factor * value for value in seconds))
    assert growth(short, twice) == pytest.approx(2)
    assert growth(None, long) is None


@given(st.integers(1, 5), st.integers(0, 12))
def test_every_engine_speaks_once_a_round_and_begins_as_often_as_any_other(count, rounds):
    names = [f"engine {number}" for number in range(count)]
    orders = rotated(names, rounds)
    assert len(orders) == rounds
    assert all(sorted(order) == sorted(names) for order in orders)
    firsts = [sum(order[0] == name for order in orders) for name in names]
    assert max(firsts) - min(firsts) <= 1


class FakeEngine:
    """Notes who spoke; its CPU time grows by `idling` whenever another engine speaks."""

    def __init__(self, name: str, log: list[str], idling: float = 0.0, slow: float = 0.0) -> None:
        self.name, self.log, self.idling, self.slow = name, log, idling, slow

    def speak(self, phonemes: str) -> Spoken:
        self.log.append(self.name)
        return Spoken(0.0, self.slow or float(len(self.log)), 24_000)

    def cpu_seconds(self) -> float:
        return self.idling * sum(name != self.name for name in self.log)


def test_engines_are_interleaved_in_rotated_order():
    log: list[str] = []
    idleness = Idleness()
    found = interleave({name: FakeEngine(name, log) for name in "abc"}, "ə", 4, idleness)
    assert "".join(log) == "abc" + "bca" + "cab" + "abc"
    assert [spoken.seconds for spoken in found["a"]] == [1.0, 6.0, 8.0, 10.0]
    assert idleness.share == 0


def test_a_round_of_several_utterances_counts_with_its_median():
    log: list[str] = []
    found = interleave({name: FakeEngine(name, log) for name in "ab"}, "ə", 2, Idleness(), repetitions=3)
    assert "".join(log) == "aaabbb" + "bbbaaa"
    assert [spoken.seconds for spoken in found["b"]] == [5.0, 8.0]


def test_an_engine_that_has_spoken_long_enough_takes_part_in_no_other_round():
    log: list[str] = []
    engines = {"slow": FakeEngine("slow", log, slow=ENOUGH + 1), "fast": FakeEngine("fast", log, slow=1.0)}
    found = interleave(engines, "ə", 3, Idleness())
    assert [len(found[name]) for name in engines] == [1, 3]


def test_an_engine_that_computes_while_another_one_speaks_is_seen():
    log: list[str] = []
    engines = {name: FakeEngine(name, log, idling) for name, idling in (("a", 0.0), ("b", 1e6))}
    idleness = Idleness()
    interleave(engines, "ə", 2, idleness)
    assert idleness.share > 1


def test_the_goals_of_a_fast_bundle_are_reached_and_those_of_a_slow_one_are_not():
    found = {goal.figure: goal for goal in goals(comparison())}
    over_peer = found["time at 62 tokens ÷ ONNX Runtime"]
    assert over_peer.judged == pytest.approx(RATES["bundle"] / RATES["onnxruntime"])
    assert over_peer.reached == "goal"
    assert found["time at 62 tokens ÷ PyTorch"].reached == "goal"
    assert found["memory of a second process"].reached == "goal"
    assert found["peak memory at 62 tokens"].reached == "no"
    assert found["cold start to WAV at 62 tokens"].reached == "no"


def test_every_figure_of_the_issue_has_a_row_and_what_was_not_measured_reaches_nothing():
    empty = comparison(timings=(), cold_starts=(), memory=(), sizes={}, footprints=(), export_seconds=None)
    assert [goal.reached for goal in goals(empty)] == [None] * 13
    assert {goal.figure for goal in goals(empty)} == {goal.figure for goal in goals(comparison())}


@given(st.sampled_from(ENGINES), st.floats(0.01, 10))
def test_a_goal_is_never_missed_by_what_reaches_less_than_it(engine, value):
    goal = Goal("time", {"bundle": value, engine: value}, str, 2.0, 1.0)
    assert goal.reached == ("goal" if value <= 1 else "at least" if value <= 2 else "no")
