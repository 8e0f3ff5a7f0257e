"""What the model reads at once, and what part of it the decoder sees for a piece.

All stages before the decoder take a fifth of the time and decide durations, pitch and energy, which depend on
the whole text around. So they read many pieces in one pass, and the decoder alone speaks piece by piece.
The decoder normalises by statistics of all frames that it sees: what has more energy than the whole comes out
too quiet. Where the statistics of the voice are known, it takes those for a small piece, and few frames are
enough. Otherwise a piece gets neighbouring frames whose energy is like that of the pass, and a gain.
`docs/decisions/streams.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.synthesiser import Prepared
from ..model.voices import Style
from .plan import CONTEXT, Section
from .split import best_end

FEWEST_FRAMES, MOST_FRAMES = 24, 96
"""Frames of each neighbour that the decoder sees; at most half of the piece's, so that it is soon there."""
BESIDE_FRAMES = 8
"""The same where the decoder takes the statistics of the voice,"""
LARGE_PIECE = 150
"""which is for pieces of fewer frames: the statistics of a larger one are nearer to those of the pass."""
OPENING_FRAMES = 16
"""Frames that the decoder sees behind an opening's piece, which nothing should delay."""
FRAME_PRICE = 0.004
"""Decibels by which the loss must be less for one more frame."""
MEAN_LOSS, SPREAD_LOSS = 1.4, 0.95
"""Decibels by which speech comes out too quietly for one more of the energy's mean and standard deviation."""


class Pass(NamedTuple):
    """Phonemes that the model reads at once; offsets are those of the passage."""

    start: int
    end: int
    pieces: tuple[tuple[int, int], ...]
    """Start and end of each piece that is spoken of it."""
    style: Style
    is_opening: bool = False


class Window(NamedTuple):
    """What the decoder sees for a piece."""

    first: int
    """The token of the pass with which it begins."""
    last: int
    """The token before which it ends."""
    gain: np.float32
    """Factor of the samples, which brings them to the level of the whole pass."""
    of_voice: bool = False
    """The decoder takes the statistics of the voice in place of the window's."""


def find_passes(section: Section, limit: int) -> list[Pass]:
    """Returns the passes of a section in order.

    A section within `limit` is read in one pass, a longer one in passes with context of both sides.
    An opening is read first, and again as context of the pieces that follow, if any do.
    """
    starts = [section.start, *section.piece_ends[:-1]]
    pieces = list(zip(starts, section.piece_ends, strict=True))
    passes: list[Pass] = []
    if section.opening:
        early = [piece for piece in pieces if piece[1] <= section.opening.spoken]
        passes = [Pass(0, section.opening.end, tuple(early), section.opening.style, True)]
        pieces = pieces[len(early) :]
        if not pieces:
            return passes
    if len(section.passage.phonemes) <= limit:
        return [*passes, Pass(0, len(section.passage.phonemes), tuple(pieces), section.style)]
    room = max(limit // 2, limit - 2 * CONTEXT)
    group: list[tuple[int, int]] = []
    for piece in pieces:
        if group and piece[1] - group[0][0] > room:
            passes.append(pass_of(section, group, limit))
            group = []
        group.append(piece)
    return [*passes, pass_of(section, group, limit)]


def pass_of(section: Section, pieces: Sequence[tuple[int, int]], limit: int) -> Pass:
    """Returns the pass that reads pieces with context, which begins and ends between words if it can."""
    start, end = pieces[0][0], pieces[-1][1]
    length = end - start
    most = min(CONTEXT, length, (limit - length) // 2)
    lefts, rights = range(start - most, start - most // 2), range(end + most, end + most // 2, -1)
    before = next((at for at in lefts if at in section.breaks), start - most)
    after = next((at for at in rights if at in section.breaks), end + most)
    return Pass(max(0, before), min(len(section.passage.phonemes), after), tuple(pieces), section.style)


def smaller_passes(section: Section, large: Pass, limit: int) -> list[Pass]:
    """Returns two passes for one that is too long, or the one phoneme alone."""
    pieces = large.pieces
    if len(pieces) > 1:
        half = len(pieces) // 2
        return [pass_of(section, pieces[:half], limit), pass_of(section, pieces[half:], limit)]
    ((start, end),) = pieces
    if end - start == 1:
        return [Pass(start, end, pieces, section.style)]
    half = (end - start + 1) // 2
    breaks = (at for at in range(start + half, end) if at in section.breaks)
    middle = best_end(section.breaks, start, half) or next(breaks, start + half)
    return [pass_of(section, [part], limit) for part in ((start, middle), (middle, end))]


def find_window(prepared: Prepared, read: Pass, start: int, end: int) -> Window:
    """Returns the window of a piece: with the statistics of the voice, the piece and few frames beside it.

    Otherwise it is the one whose energy is nearest to that of its pass, in few frames.

    Args:
        prepared: the pass.
        read: the same.
        start: first phoneme of the piece.
        end: the phoneme after its last.
    """
    frames = prepared.starts
    own = start - read.start + 1, end - read.start + 1
    count = int(frames[own[1]] - frames[own[0]])
    of_voice = prepared.statistics is not None and count < LARGE_PIECE
    fewest = OPENING_FRAMES if read.is_opening else FEWEST_FRAMES
    fewest = most = BESIDE_FRAMES if of_voice else fewest
    if not of_voice and not read.is_opening:
        most = min(MOST_FRAMES, max(fewest, count // 2))
    lefts = np.zeros(1, np.int64)
    if start > read.start:
        lefts = own[0] - 1 - _within(frames[own[0]] - frames[: own[0]][::-1], fewest, most)
    rights = np.array([len(frames) - 1])
    if end < read.end:
        rights = own[1] + 1 + _within(frames[own[1] + 1 :] - frames[own[1]], fewest, most)
    if of_voice:
        return Window(int(lefts[0]), int(rights[0]), np.float32(1), of_voice=True)
    losses = _losses(prepared.curves["energy"], frames, lefts, rights)
    costs = np.abs(losses) + FRAME_PRICE * (frames[rights] - frames[lefts][:, None])
    left, right = divmod(int(np.argmin(costs)), len(rights))
    gain = np.float32(10 ** (float(losses[left, right]) / 20))
    return Window(int(lefts[left]), int(rights[right]), gain)


def _within(distances: NDArray[np.int64], fewest: int, most: int) -> NDArray[np.int64]:
    """Returns which of ascending distances may be chosen: the last one if all are too short."""
    nearest = int(np.searchsorted(distances, fewest))
    if nearest >= len(distances):
        return np.array([len(distances) - 1])
    return np.arange(nearest, max(nearest + 1, int(np.searchsorted(distances, most, "right"))))


def _losses(
    energy: NDArray[np.float32],
    frames: NDArray[np.int64],
    lefts: NDArray[np.int64],
    rights: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Returns by how many dB the decoder speaks too quietly between tokens, ``[lefts, rights]``."""
    values = energy[0].astype(np.float64)
    # `cumsum` adds one after another, so that the bits are the same in every language.
    sums, squares = (
        np.concatenate([[0.0], np.cumsum(each)])[2 * frames] for each in (values, values * values)
    )

    def louder(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
        count = 2 * (frames[right] - frames[left])
        mean = (sums[right] - sums[left]) / count
        variance = (squares[right] - squares[left]) / count - mean * mean
        found: NDArray[np.float64] = MEAN_LOSS * mean + SPREAD_LOSS * np.sqrt(np.maximum(variance, 0.0))
        return found

    return louder(lefts[:, None], rights) - louder(np.array(0), np.array(len(frames) - 1))
