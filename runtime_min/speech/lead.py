"""The lead of a stream: how early its pieces come, and how to begin late enough that none comes too late."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from .plan import LARGEST_PIECE
from .timing import Audio

CAUTION = 1.5
"""The machine may become slower by this factor without a gap."""
BESIDE = 40
"""Phonemes that take as long as what is computed beside those of a piece: its neighbours' frames."""
READING = 5
"""So many phonemes are read in the time in which one is decoded."""


class Player:
    """A listener who begins with the first piece, and hears each once it is there and the last is over."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Takes a clock in seconds."""
        self._clock = clock
        self._end: float | None = None

    def take(self, seconds: float) -> float:
        """Returns by how many seconds a piece of so many comes before the ones before it are over."""
        now = self._clock()
        end = now if self._end is None else self._end
        self._end = max(now, end) + seconds
        return end - now


def steady_pieces(
    pieces: Iterator[Audio], lengths: Sequence[int], clock: Callable[[], float] = time.perf_counter
) -> Iterator[Audio]:
    """Yields as one piece what must be there before playing can begin, and then the other pieces.

    Args:
        pieces: a speech; each piece is computed when it is taken.
        lengths: phonemes of the first pieces; if they are as many as a large one has, another may follow.
        clock: a clock in seconds.
    """
    held: list[Audio] = []
    seconds, slowest, start = 0.0, 0.0, clock()
    reading = sum(lengths) // READING
    following = [*lengths, *([LARGEST_PIECE] if sum(lengths) >= LARGEST_PIECE else [])]
    for piece in pieces:
        end = clock()
        held.append(piece)
        seconds += len(piece.samples) / piece.sample_rate
        slowest = max(slowest, (end - start) / (len(piece.phonemes) + BESIDE))
        heard = (piece.tokens[-1].end - piece.tokens[0].start) / len(piece.phonemes)
        computed = CAUTION * slowest
        # The second piece waits until all of the passage is read.
        if lasts(seconds - computed * reading, following[len(held) :], heard, computed):
            break
        reading = 0
        start = end
    if held:
        yield Audio.join(held)
    yield from pieces


def lasts(lead: float, lengths: Sequence[int], heard: float, computed: float) -> bool:
    """Returns whether each piece is there before the ones before it are over.

    Args:
        lead: seconds of audio that are there.
        lengths: phonemes of the pieces that follow.
        heard: seconds of audio of a phoneme.
        computed: seconds in which a phoneme is computed.
    """
    for length in lengths:
        lead -= computed * (length + BESIDE)
        if lead < 0:
            return False
        lead += heard * length
    return True
