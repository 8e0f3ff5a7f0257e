"""A stream tells how early its pieces come, and can begin so late that a slow machine makes no gaps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_min.speech.lead import BESIDE, CAUTION, Player, steady_pieces
from runtime_min.speech.stream import Stream
from runtime_min.speech.timing import Audio
from tests.support.fakes.synthesiser import pieces, plan

LONG = "abc de fgh ab, cde fgh abcd. " * 25


class Machine:
    """A machine that takes so many seconds for each second of audio; its clock is not that of this one."""

    def __init__(self, slowness: float) -> None:
        self.slowness = slowness
        self.now = 0.0
        self.computed = 0

    def pieces(self, text: str = LONG) -> Iterator[Audio]:
        for piece in pieces(plan(text, limit=510, trim=True)):
            self.now += self.slowness * (len(piece.phonemes) + BESIDE) / 8
            self.computed += 1
            yield piece

    def steady(self, text: str = LONG) -> Iterator[Audio]:
        return steady_pieces(self.pieces(text), plan(text, limit=510).lengths, lambda: self.now)


def gaps(stream: Iterator[Audio], machine: Machine) -> list[float]:
    """Takes each piece as soon as it is there, and returns their leads."""
    player = Player(lambda: machine.now)
    return [player.take(len(piece.samples) / piece.sample_rate) for piece in stream]


def test_a_lead_is_the_time_that_a_player_still_has() -> None:
    now = 5.0
    player = Player(lambda: now)
    assert player.take(1.0) == 0
    now = 5.25
    assert player.take(2.0) == 0.75
    now = 8.5
    assert player.take(1.0) == -0.5
    # It has paused for that long.
    now = 9.0
    assert player.take(1.0) == 0.5


def test_a_stream_tells_its_lead() -> None:
    with Stream(pieces(plan(LONG)), "") as stream:
        assert stream.lead == 0
        next(stream)
        assert stream.lead == 0
        first = next(stream)
        assert len(first.samples) > 0
        assert -60 < stream.lead < 60 and stream.lead != 0


@settings(max_examples=20)
@given(st.floats(0.01, 0.6), st.floats(1, CAUTION - 0.01))
def test_a_steady_stream_has_no_gap_even_if_the_machine_becomes_slower(slowness: float, later: float) -> None:
    machine = Machine(slowness)
    stream = machine.steady()
    player = Player(lambda: machine.now)
    player.take(len(next(stream).samples) / 24_000)
    machine.slowness *= later
    assert all(player.take(len(piece.samples) / 24_000) >= 0 for piece in stream)


def test_a_machine_that_is_fast_begins_with_the_first_piece_and_a_slow_one_makes_gaps_without() -> None:
    fast, slow = Machine(0.02), Machine(0.6)
    next(fast.steady())
    assert fast.computed == 1
    assert min(gaps(slow.pieces(), slow)) < 0
    waiting = Machine(0.6)
    next(waiting.steady())
    assert 1 < waiting.computed < len(plan(LONG, limit=510).lengths)


@pytest.mark.parametrize("text", ["a", LONG[:40], LONG])
@pytest.mark.parametrize("slowness", [0.01, 0.5, 5.0])
def test_a_steady_stream_is_the_same_speech(text: str, slowness: float) -> None:
    machine = Machine(slowness)
    found = list(machine.steady(text))
    expected, joined = Audio.join(Machine(0).pieces(text)), Audio.join(found)
    assert joined.samples.tobytes() == expected.samples.tobytes()
    assert (joined.tokens, joined.phonemes) == (expected.tokens, expected.phonemes)
    total = 0
    for piece in found:
        assert piece.start == total / 24_000
        total += len(piece.samples)


def test_a_speech_without_pieces_stays_one() -> None:
    assert list(steady_pieces(iter(()), [])) == []
