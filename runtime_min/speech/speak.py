"""Speech of any length: split, synthesise each piece with context, join, time.

A piece is synthesised together with some of its neighbours' words, which are discarded: so its first and
last sounds are spoken as in the middle of a text, not as at its ends. All pieces of a passage use the style
row of the passage's length, not of their own. Rows for short inputs are nearly other voices (in the real
packs row 20 is as far from row 200 as the latter is long, while 150 to 510 are nearly equal), so with their
own rows level and pitch would jump.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PauseError, UtteranceTooLongError
from ..format.signatures import SAMPLE_RATE, SAMPLES_PER_FRAME
from ..model.voices import Style
from .join import Joiner, Part
from .split import Break, best_end, split
from .timing import Audio, Clock, lead
from .words import Passage

LARGEST_PIECE = 250
"""Phonemes. Larger pieces need more memory, and kokoro is known to rush beyond 400."""
CONTEXT = 12
"""At most so many phonemes of each neighbour are synthesised too,"""
SHARE = 8
"""and at most one for so many of the piece's own, so that a short first piece is soon there."""
LONGEST_PAUSE = 60.0
"""Seconds."""
_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: the seeds of pieces lie far from each other and from other seeds' pieces."""

Samples = NDArray[np.float32]
Frames = NDArray[np.int64]
Synthesise = Callable[[str, Style, float, int], tuple[Samples, Frames]]
"""Phonemes, style, speed and seed to samples and the frames of each token, boundaries included."""


@dataclass(frozen=True)
class Section:
    """A passage that is ready to be spoken."""

    passage: Passage
    breaks: Mapping[int, Break]
    ends: Sequence[int]
    """Where its pieces end."""
    style: Style
    speed: float
    seed: int


@dataclass(frozen=True)
class Manner:
    """What holds for a whole speech."""

    limit: int
    """Most phonemes that the model takes at once."""
    pauses: Mapping[Break, float]
    """Seconds of silence to add after what ends with such a break."""
    trim: bool
    """Leave out silence at both ends."""


class Piece(NamedTuple):
    """What is synthesised at once: the phonemes `before` to `after`, of which `start` to `end` are kept."""

    before: int
    start: int
    end: int
    after: int


class Rendering(NamedTuple):
    """A piece as the model speaks it."""

    piece: Piece
    samples: Samples
    durations: Frames

    def token(self, offset: int) -> int:
        """Returns which token the phoneme at `offset` of the passage is; the first is a boundary."""
        return offset - self.piece.before + 1

    def sample(self, offset: int) -> int:
        """Returns where the phoneme at `offset` of the passage begins."""
        return SAMPLES_PER_FRAME * int(self.durations[: self.token(offset)].sum())


def check_pauses(sentence: object, clause: object) -> dict[Break, float]:
    """Returns the pause after each kind of break, in seconds.

    Raises:
        PauseError: one is no number from 0 to `LONGEST_PAUSE`.
    """
    pauses = {}
    for kind, pause in ((Break.SENTENCE, sentence), (Break.CLAUSE, clause)):
        number = isinstance(pause, (int, float, np.integer, np.floating)) and not isinstance(pause, bool)
        if not number or not 0 <= pause <= LONGEST_PAUSE:  # type: ignore[operator]
            raise PauseError(pause, LONGEST_PAUSE)
        pauses[kind] = float(pause)  # type: ignore[arg-type]
    return pauses


def piece_seed(seed: int, start: int) -> int:
    """Returns the seed of the piece that begins `start` phonemes after what `seed` is for."""
    return (seed + _SEED_STEP * start) % 2**64


def plan_ends(
    phonemes: str, breaks: Mapping[int, Break], limit: int, *, whole: bool, growing: bool
) -> list[int]:
    """Returns where the pieces of a passage end.

    Args:
        phonemes: of the passage.
        breaks: from `find_breaks`.
        limit: most phonemes that the model takes at once.
        whole: leave in one piece what fits into one.
        growing: otherwise begin with a short piece.
    """
    if whole and len(phonemes) <= limit:
        return [len(phonemes)]
    return split(phonemes, breaks, limit=limit, size=min(LARGEST_PIECE, (limit + 1) // 2), growing=growing)


def speak(sections: Sequence[Section], manner: Manner, synthesise: Synthesise) -> Iterator[Audio]:
    """Speaks sections one after another and yields the audio of each piece as soon as it is final.

    Raises:
        UtteranceTooLongError: a single phoneme exceeds the largest frame bucket.
    """
    joiner = Joiner(trim=manner.trim)
    for section in sections:
        passage = section.passage
        clock, early = Clock(passage.phonemes, passage.words), 0
        for rendering in _renderings(section, manner.limit, synthesise):
            piece, durations = rendering.piece, rendering.durations
            if piece.start == 0:
                early = lead(int(durations[0]))
            last = section is sections[-1] and piece.end == len(passage.phonemes)
            parts = _parts(section, rendering, manner.pauses)
            positions = [(first, joiner.add(part)) for first, part in parts]
            start, samples = joiner.given, joiner.take(last=last)
            for first, position in positions:
                own = durations[rendering.token(first) : rendering.token(piece.end)]
                moved = position + rendering.sample(first) - joiner.trimmed - early
                clock.place(first, moved, SAMPLES_PER_FRAME * own)
            begin = rendering.token(piece.start) if piece.start else 0
            end = rendering.token(piece.end) if piece.end < len(passage.phonemes) else None
            yield Audio(
                samples,
                SAMPLE_RATE,
                durations[begin:end],
                passage.phonemes[piece.start : piece.end],
                clock.tokens(piece.start, piece.end),
                clock.words(piece.end),
                start / SAMPLE_RATE,
            )


def _renderings(section: Section, limit: int, synthesise: Synthesise) -> Iterator[Rendering]:
    """Synthesises the pieces of a section in order, in halves those that exceed the largest frame bucket."""
    phonemes = section.passage.phonemes
    starts = [0, *section.ends[:-1]]
    waiting = [_with_context(section, *span, limit) for span in zip(starts, section.ends, strict=True)][::-1]
    while waiting:
        piece = waiting.pop()
        seed = piece_seed(section.seed, piece.start)
        try:
            spoken = synthesise(phonemes[piece.before : piece.after], section.style, section.speed, seed)
        except UtteranceTooLongError:
            if piece.after - piece.before == 1:
                raise
            waiting += _smaller(section, piece, limit)[::-1]
        else:
            yield Rendering(piece, *spoken)


def _with_context(section: Section, start: int, end: int, limit: int) -> Piece:
    """Adds phonemes of both neighbours, at most `CONTEXT`, fewer so as to end between words."""
    length = end - start
    most = min(CONTEXT, max(3, length // SHARE), (limit - length) // 2)
    lefts, rights = range(start - most, start - most // 2), range(end + most, end + most // 2, -1)
    before = next((at for at in lefts if at in section.breaks), start - most)
    after = next((at for at in rights if at in section.breaks), end + most)
    return Piece(max(0, before), start, end, min(len(section.passage.phonemes), after))


def _smaller(section: Section, piece: Piece, limit: int) -> list[Piece]:
    """Returns two pieces for one that is too long, or the one phoneme alone."""
    length = piece.end - piece.start
    if length == 1:
        return [Piece(piece.start, piece.start, piece.end, piece.end)]
    half = (length + 1) // 2
    gaps = (at for at in range(piece.start + half, piece.end) if at in section.breaks)
    middle = best_end(section.breaks, piece.start, half) or next(gaps, piece.start + half)
    return [_with_context(section, *span, limit) for span in ((piece.start, middle), (middle, piece.end))]


def _parts(
    section: Section, rendering: Rendering, pauses: Mapping[Break, float]
) -> Iterator[tuple[int, Part]]:
    """Divides a rendering where a pause is added; yields each part with the offset of its first phoneme."""
    phonemes, piece = section.passage.phonemes, rendering.piece

    def gap(offset: int) -> int:
        return rendering.sample(offset) - rendering.sample(_gap_start(phonemes, offset, piece.before))

    own = range(piece.start + 1, piece.end + 1)
    silences = {at: pauses.get(section.breaks.get(at, Break.WORD), 0.0) for at in own}
    ends = [at for at in own if silences[at] or at == piece.end]
    for start, end in zip([piece.start, *ends[:-1]], ends, strict=True):
        yield (
            start,
            Part(
                rendering.samples,
                rendering.sample(start) if start else 0,
                rendering.sample(end) if end < len(phonemes) else len(rendering.samples),
                gap(start),
                gap(end),
                round(SAMPLE_RATE * silences[end]),
            ),
        )


def _gap_start(phonemes: str, offset: int, first: int) -> int:
    """Returns where the punctuation and spaces before `offset` begin, not before `first`."""
    while offset > first and unicodedata.category(phonemes[offset - 1])[0] in "PZ":
        offset -= 1
    return offset
