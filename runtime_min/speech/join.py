"""Joins renderings of neighbouring pieces: at a quiet point, in phase, without a step.

Each piece is synthesised with some of its neighbours' words, so around the border there are two renderings
of the same sounds. They meet where both are quiet, within the punctuation or space that ends the left piece.
There the right one is moved by up to half a period of the voice, so that both swing alike, and fades in while
the left one fades out. Whatever the correlation of the two, the gains keep the power.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .silence import START_SILENCE, find_speech, levels

Samples = NDArray[np.float32]

HALF_FADE = 300
"""Half of a crossfade, 12.5 ms: the whole holds two periods of a man's voice."""
LARGEST_SHIFT = 200
"""8 ms, half a period at 60 Hz: the most by which a rendering is moved to be in phase."""
ROOM = 1_200
"""50 ms before the space or punctuation are searched too: sounds begin and end up to so much early."""
LARGEST_ROOM = 6_000
"""The most that is searched, 250 ms."""
_EDGE = 120
"""5 ms fades around added silence."""


class Excerpt(NamedTuple):
    """The samples of some phonemes within a rendering, with those of their neighbours on both sides.

    `start`, `end` and the gaps count samples of the rendering.
    """

    samples: Samples
    """The whole rendering, ``[n]``."""
    start: int
    """Beginning of the excerpt's first token; 0 at the beginning of a passage."""
    end: int
    """End of its last token; n at the end of a passage."""
    gap_before: int
    """Samples before `start` that belong to spaces and punctuation."""
    gap_after: int
    """Samples before `end` that belong to spaces and punctuation."""
    pause: int = 0
    """Samples of silence to add behind it."""
    phoneme: int = 0
    """Offset in the passage of the excerpt's first phoneme."""


class Joiner:
    """Lays excerpts on one time line and gives out the samples that no later excerpt can change."""

    def __init__(self, *, end_silence: int | None = None) -> None:
        """Takes the samples of silence behind the speech; None leaves the silence at both ends as it is."""
        self.taken = 0
        """Samples of the output that were taken."""
        self.trimmed: int = 0
        """Samples that were left out at the beginning; known after the first `take`."""
        self._end_silence = end_silence
        self._loudest = 0.0
        """Greatest level of what was taken."""
        self._begin = 0
        """Position of the first sample that is kept."""
        self._kept = np.zeros(0, np.float32)
        """The samples from there on, into the neighbour of the last excerpt."""
        self._last: Excerpt | None = None
        self._border = 0
        """Position at which the last excerpt ends."""

    def add(self, excerpt: Excerpt) -> int:
        """Joins an excerpt to the ones before.

        Returns:
            The position of the first sample of its rendering, whether or not that is heard.
        """
        position = self._join(self._last, excerpt) if self._last else 0
        if self._last is None:
            self._kept = excerpt.samples[: excerpt.end + HALF_FADE]
        self._last, self._border = excerpt, position + excerpt.end
        return position

    def take(self, *, last: bool = False) -> Samples:
        """Returns the samples that are final; all of them if no excerpt will follow."""
        ready = len(self._kept)
        if not last and self._last:
            ready = max(0, self._border - self._begin - _room(self._last.gap_after) - HALF_FADE)
        taken, self._kept = self._kept[:ready], self._kept[ready:]
        first = self._begin == 0
        self._begin += ready
        if self._end_silence is not None:
            taken = self._trim(taken, self._end_silence, first=first, last=last)
        self.taken += len(taken)
        return taken

    def _trim(self, taken: Samples, end_silence: int, *, first: bool, last: bool) -> Samples:
        """Shortens the silence before the speech, and makes that behind it as long as it should be."""
        level = levels(taken)
        self._loudest = max(self._loudest, float(level.max(initial=0.0)))
        start, end = find_speech(level, self._loudest) or (0, 0)
        if last and self._loudest:
            silence = taken[end : end + end_silence]
            added = np.zeros(end_silence - len(silence), np.float32)
            taken = np.concatenate([taken[:end], silence, added])
        if first:
            self.trimmed = max(0, start - START_SILENCE)
            taken = taken[self.trimmed :]
        return taken

    def _join(self, left: Excerpt, excerpt: Excerpt) -> int:
        """Appends `excerpt` to what is kept and returns where its rendering begins."""
        border = self._border - self._begin
        if excerpt.start == 0:
            # Another passage: both are at an end and have nothing in common.
            return self._set_apart(border, excerpt, 0, left.pause)
        room = min(_room(left.gap_after), _room(excerpt.gap_before))
        room = max(0, min(room, border - HALF_FADE, excerpt.start - HALF_FADE - LARGEST_SHIFT))
        reach = room + HALF_FADE
        back = quietest(self._kept[border - reach :], excerpt.samples[excerpt.start - reach :], room)
        if left.pause:
            return self._set_apart(border - back, excerpt, excerpt.start - back, left.pause)
        return self._crossfade(border - back, excerpt, excerpt.start - back)

    def _set_apart(self, cut: int, excerpt: Excerpt, right: int, silence: int) -> int:
        """Fades what is kept out before `cut`, and `excerpt` in from its sample `right` on."""
        ramp = ((np.arange(_EDGE) + 0.5) / _EDGE).astype(np.float32)
        before, after = self._kept[:cut].copy(), excerpt.samples[right : excerpt.end + HALF_FADE].copy()
        before[-_EDGE:] *= ramp[::-1][-len(before) :]
        after[:_EDGE] *= ramp[: len(after)]
        self._kept = np.concatenate([before, np.zeros(silence, np.float32), after])
        return self._begin + cut + silence - right

    def _crossfade(self, cut: int, excerpt: Excerpt, right: int) -> int:
        """Fades from what is kept to `excerpt` where `cut` of the one and about `right` of the other meet."""
        before = self._kept[cut - HALF_FADE : cut + HALF_FADE]
        shift = best_shift(before, excerpt.samples[right - HALF_FADE - LARGEST_SHIFT :])
        right += shift
        after = excerpt.samples[right - HALF_FADE : right + HALF_FADE]
        rest = excerpt.samples[right + HALF_FADE : excerpt.end + HALF_FADE]
        self._kept = np.concatenate([self._kept[: cut - HALF_FADE], crossfade(before, after), rest])
        return self._begin + cut - right


def _room(gap: int) -> int:
    return min(gap + ROOM, LARGEST_ROOM)


def quietest(left: Samples, right: Samples, room: int) -> int:
    """Returns the distance before the border at which both renderings are quietest, from 0 to `room`.

    Args:
        left: from `room` and half a fade before the border on.
        right: the same of the other rendering.
        room: greatest distance.
    """
    count = room + 2 * HALF_FADE
    energy = left[:count].astype(np.float64) ** 2 + right[:count].astype(np.float64) ** 2
    sums = np.concatenate([[0.0], np.cumsum(energy)])
    windows = sums[2 * HALF_FADE :] - sums[: -2 * HALF_FADE]
    return room - int(np.argmin(windows))


def best_shift(left: Samples, right: Samples) -> int:
    """Returns by how many samples to read `right` later so that it correlates best with `left`.

    Args:
        left: a fade's length.
        right: begins `LARGEST_SHIFT` samples before the place that belongs to the beginning of `left`.
    """
    shifts = min(len(right) - len(left), 2 * LARGEST_SHIFT)
    return best_place(left, right, 0, 1, shifts + 1) - LARGEST_SHIFT


def best_place(left: Samples, samples: Samples, first: int, step: int, number: int) -> int:
    """Returns at which of `number` places in `samples` the samples correlate best with `left`.

    Args:
        left: the samples to be like.
        samples: those in which to look.
        first: the first place.
        step: samples between two places.
        number: number of places.
    """
    searched = samples[first : first + step * (number - 1) + len(left)].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(searched, len(left))[::step]
    # No matrix product: the sum must not depend on the number of BLAS threads.
    products = (windows * left.astype(np.float64)).sum(axis=1)
    energies = (windows**2).sum(axis=1)
    return first + step * int(np.argmax(products / np.sqrt(energies + 1e-12)))


def crossfade(left: Samples, right: Samples) -> Samples:
    """Fades from `left` to `right`, both of one length, with gains that keep the power.

    With ramps a and b and correlation r, the power of the sum is a² + b² + 2abr. Dividing by its root gives
    the linear fade for equal signals and the equal-power fade for independent ones.
    """
    one, two = left.astype(np.float64), right.astype(np.float64)
    correlation = float((one * two).sum() / (np.sqrt((one**2).sum() * (two**2).sum()) + 1e-12))
    rising = (np.arange(len(left)) + 0.5) / len(left)
    falling = 1 - rising
    power = falling**2 + rising**2 + 2 * falling * rising * max(0.0, correlation)
    return ((falling * one + rising * two) / np.sqrt(power)).astype(np.float32)
