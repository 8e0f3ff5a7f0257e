"""Speech of any length: read it in passes, decode each piece in context, join the pieces, time the phonemes.

A piece is decoded together with some of its neighbours' frames, which are discarded: so its first and last
sounds are spoken as in the middle of a text, not as at its ends. All pieces of a passage use the style row of
the passage's length, not of their own, but for an opening (`request.Opening`). Rows for short inputs are
nearly other voices (in the real packs row 20 is as far from row 200 as the latter is long, while 150 to 510
are nearly equal), so with their own rows level and pitch would jump.

An offset is in one of these systems. Each is made from the one above it:

    text        |H|e|l|l|o|,| |w|o|r|l|d|.|         characters that the reader sees; in messages alone
    passage     |h|ə|l|ˈ|O|,| |w|ˈ|ɜ|ɹ|l|d|.|       phonemes of one section: `Piece`, breaks, words, `Clock`
    pass      |context|      own      |context|     phonemes read at once: `Pass`
    piece          |context| own |context|          phonemes decoded at once: `Piece`
    tokens       |0|context| own |context|0|        and what is beside both ends: `Rendering.token`
    frames       durations of the tokens, added up  40 a second
    samples      600 a frame, before any stretch    in one rendering: `Rendering.sample`, `Excerpt`
    time line    -----|rendering|-----              samples of the speech, where `Joiner.add` places it
    output          --|rendering|-----              the time line without the silence trimmed at its beginning

The times that a caller gets are those of the output, earlier by kokoro's lead (see `timing`).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UtteranceTooLongError
from ..format.signatures import SAMPLE_RATE, SAMPLES_PER_FRAME
from ..model.loudness import amplify
from ..model.synthesiser import Prepared, Synthesiser, Utterance
from .join import Excerpt, Joiner, Samples
from .passes import Pass, find_passes, find_window, smaller_passes
from .plan import Section, SpeechPlan, piece_seed
from .split import Break
from .stretch import model_speed, stretch
from .timing import LEAD_FRAMES, Audio, Clock


class Piece(NamedTuple):
    """A part of a passage that is decoded at once; all are offsets in the passage."""

    context_start: int
    """The token before this phoneme is the first that is decoded."""
    start: int
    """Start of the piece's own phonemes, which `end` ends."""
    end: int


class Rendering(NamedTuple):
    """A piece as the model computes it, or stretched in time."""

    piece: Piece
    samples: NDArray[np.float32]
    durations: NDArray[np.int64]
    """Frames of each token, rounded if the samples were stretched."""
    starts: NDArray[np.int64]
    """``[tokens + 1]``, sample at which each token begins, and the end of the last."""
    lead: int
    """Samples by which speech begins before the first boundary token ends."""

    def token(self, phoneme: int) -> int:
        """Returns the token of the phoneme at an offset of the passage; token 0 is before the context."""
        return phoneme - self.piece.context_start + 1

    def sample(self, phoneme: int) -> int:
        """Returns the sample at which the phoneme at an offset of the passage begins."""
        return int(self.starts[self.token(phoneme)])


def speak(plan: SpeechPlan, synthesiser: Synthesiser, later: Iterable[SpeechPlan] = ()) -> Iterator[Audio]:
    """Speaks the sections one after another and yields the audio of each piece as soon as it is final.

    Args:
        plan: the plan of the speech.
        synthesiser: computes each piece.
        later: plans of what follows, each taken while what is before it is spoken.

    Raises:
        UtteranceTooLongError: a single phoneme exceeds the largest frame bucket.
        ModelOutputError: the model computed something that is not finite.
    """
    sections = chain(plan.sections, (section for following in later for section in following.sections))
    narrator = Narrator(plan, synthesiser)
    for section, is_last in _spoken(sections):
        yield from narrator.speak(section, is_last=is_last)


class Narrator:
    """Speaks sections one after another on one time line."""

    def __init__(self, plan: SpeechPlan, synthesiser: Synthesiser) -> None:
        """Takes the manner of the speech, and what computes it."""
        self._plan = plan
        self._synthesiser = synthesiser
        self._joiner = Joiner(end_silence=round(SAMPLE_RATE * plan.end_pause) if plan.trim else None)
        self._lead = 0

    def speak(self, section: Section, *, is_last: bool) -> Iterator[Audio]:
        """Yields each piece of a section that has phonemes."""
        clock = Clock(section.passage.phonemes, section.passage.words, section.passage.text)
        for rendering in _renderings(section, self._plan.max_phonemes, self._synthesiser):
            piece, phonemes = rendering.piece, section.passage.phonemes
            at_end = piece.end == section.end
            if piece.start == 0:
                self._lead = rendering.lead
            output_start = self._joiner.taken
            samples = self._place(section, rendering, clock, is_last=at_end and is_last)
            first_token = rendering.token(piece.start) if piece.start else 0
            end_token = None if at_end and not section.is_open else rendering.token(piece.end)
            words, ends, text = clock.words(piece.end, at_end=at_end)
            yield Audio(
                samples,
                SAMPLE_RATE,
                rendering.durations[first_token:end_token],
                phonemes[piece.start : piece.end],
                clock.tokens(piece.start, piece.end),
                words,
                output_start / SAMPLE_RATE,
                section.passage.unspoken if piece.start == section.start else (),
                section.voice,
                text,
                ends,
            )

    def _place(self, section: Section, rendering: Rendering, clock: Clock, *, is_last: bool) -> Samples:
        """Joins a piece to what was spoken, tells its times, and returns the samples that are final."""
        # With their places on the time line; what is trimmed is known after the first `take`.
        excerpts = _excerpts(section, rendering, self._plan.pauses)
        placed = [(each, self._joiner.add(each)) for each in excerpts]
        samples = self._joiner.take(last=is_last)
        end = rendering.token(rendering.piece.end) + 1
        for excerpt, place in placed:
            starts = rendering.starts[rendering.token(excerpt.phoneme) : end]
            clock.place(excerpt.phoneme, place - self._joiner.trimmed - self._lead, starts)
        return samples

    def end(self, unspoken: Sequence[Section]) -> Audio:
        """Returns the samples that are left after a section that was not known to be the last.

        Args:
            unspoken: the sections after it, which have no phonemes.
        """
        output_start = self._joiner.taken
        samples = self._joiner.take(last=True)
        words = [word for section in unspoken for word in section.passage.unspoken]
        text = "".join([section.passage.text for section in unspoken])
        start, none = output_start / SAMPLE_RATE, np.zeros(0, np.int64)
        return Audio(samples, SAMPLE_RATE, none, start=start, unspoken=tuple(words), text=text)


def _spoken(sections: Iterable[Section]) -> Iterator[tuple[Section, bool]]:
    """Yields the sections that have phonemes, and True with the last.

    Each takes the words that are left out, and the longest pause, up to the next one.
    """
    found: list[Section] = []
    for section in sections:
        if section.passage.phonemes and any(each.passage.phonemes for each in found):
            yield as_one(found), False
            found = []
        found.append(section)
    yield as_one(found), True


def as_one(sections: Sequence[Section]) -> Section:
    """Returns the one section that has phonemes, with the text and the unspoken words of all."""
    texts = [section.passage.text for section in sections]
    (place,) = [place for place, section in enumerate(sections) if section.passage.phonemes]
    spoken = sections[place]
    unspoken = [word for section in sections for word in section.passage.unspoken]
    pause = max([section.passage.pause for section in sections])
    shift = len("".join(texts[:place]))
    words = [word._replace(text_offset=word.text_offset + shift) for word in spoken.passage.words]
    passage = replace(
        spoken.passage, words=tuple(words), text="".join(texts), unspoken=tuple(unspoken), pause=pause
    )
    return replace(spoken, passage=passage)


def _renderings(section: Section, limit: int, synthesiser: Synthesiser) -> Iterator[Rendering]:
    """Synthesises the pieces of a section in order. Passes that exceed the largest bucket are halved."""
    waiting = find_passes(section, limit)[::-1]
    speed = _spoken_speed(section)
    while waiting:
        read = waiting.pop()
        phonemes = section.passage.phonemes[read.start : read.end]
        seed = piece_seed(section.seed, read.start)
        try:
            utterance = Utterance(phonemes, read.style, speed, seed, section.stretch, section.statistics)
            prepared = synthesiser.prepare(utterance)
        except UtteranceTooLongError:
            if len(phonemes) == 1:
                raise
            waiting += smaller_passes(section, read, limit)[::-1]
        else:
            for start, end in read.pieces:
                yield _rendering(section, synthesiser, prepared, read, start, end)


def _spoken_speed(section: Section) -> float:
    """Returns the speed of the model."""
    return model_speed(section.speed) if section.stretch else section.speed


def _rendering(
    section: Section, synthesiser: Synthesiser, prepared: Prepared, read: Pass, start: int, end: int
) -> Rendering:
    """Decodes a piece of a pass."""
    first, last, gain, of_voice = find_window(prepared, read, start, end)
    frames = prepared.starts
    if not of_voice:
        prepared = Prepared(prepared.durations, prepared.curves, prepared.noise)
    samples = synthesiser.decode(prepared, int(frames[first]), int(frames[last]))
    durations = prepared.durations[first:last]
    places = SAMPLES_PER_FRAME * (frames[first : last + 1] - frames[first])
    lead = SAMPLES_PER_FRAME * min(LEAD_FRAMES, int(durations[0]))
    piece = Piece(read.start + first, start, end)
    rendering = Rendering(piece, gain * samples, durations, places, lead)
    beside = section.speed / _spoken_speed(section)
    rendering = _stretched(rendering, beside, math.inf if section.is_open else section.end)
    if section.gain is not None:
        rendering = rendering._replace(samples=amplify(rendering.samples, section.gain))
    return rendering


def _stretched(rendering: Rendering, speed: float, length: float) -> Rendering:
    """Returns a piece of a passage of `length` phonemes as it is heard, at `speed` beside that of the model.

    It is less fast if its own samples, or a neighbour's, would be fewer than a frame has: a join needs them.
    """
    piece, samples, _, starts, lead = rendering
    count = len(samples)
    begin = rendering.sample(piece.start) if piece.start else 0
    end = rendering.sample(piece.end) if piece.end < length else count
    least = min(each for each in (begin, end - begin, count - end) if each)
    speed = min(speed, least / SAMPLES_PER_FRAME)
    if speed == 1:
        return rendering
    stretched = stretch(samples, speed)
    starts, lead = starts * len(stretched) // count, lead * len(stretched) // count
    frames = (starts + SAMPLES_PER_FRAME // 2) // SAMPLES_PER_FRAME
    return Rendering(piece, stretched, np.diff(frames), starts, lead)


def _excerpts(section: Section, rendering: Rendering, pauses: Mapping[Break, float]) -> Iterator[Excerpt]:
    """Divides a rendering where a pause is added."""
    phonemes, piece = section.passage.phonemes, rendering.piece

    def gap(phoneme: int) -> int:
        return rendering.sample(phoneme) - rendering.sample(
            _gap_start(phonemes, phoneme, piece.context_start)
        )

    start = piece.start
    for end in range(piece.start + 1, piece.end + 1):
        pause = pauses.get(section.breaks.get(end, Break.WORD), 0.0)
        if end == section.end:
            pause = max(pause, section.passage.pause)
        if pause or end == piece.end:
            yield Excerpt(
                rendering.samples,
                rendering.sample(start) if start else 0,
                rendering.sample(end) if end < len(phonemes) or section.is_open else len(rendering.samples),
                gap(start),
                gap(end),
                round(SAMPLE_RATE * pause),
                phoneme=start,
            )
            start = end


def _gap_start(phonemes: str, end: int, first: int) -> int:
    """Returns the start of the punctuation and spaces before `end`, but not less than `first`."""
    while end > first and unicodedata.category(phonemes[end - 1])[0] in "PZ":
        end -= 1
    return end
