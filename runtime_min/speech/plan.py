"""Plans how to speak a request: sections with a style and a seed, divided into pieces."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentTypeError, EmptyInputError, TextAsPhonemesWarning, check_type
from ..model.loudness import voice_gain
from ..model.voices import Style, style_row, voice_name
from .request import (
    Capabilities,
    Request,
    check_loudness,
    check_pause,
    check_phonemes,
    check_seed,
    check_speed,
)
from .split import FIRST_CLAUSE, Break, find_breaks, split
from .text_as_phonemes import looks_like_text
from .words import Passage, Portion, Unspoken, read_input

LARGEST_PIECE = 250
"""Phonemes. Larger pieces need more memory, and kokoro is known to rush beyond 400."""
LOOKAHEAD = 40
"""Phonemes after an opening's piece that are read with it: with fewer its length depends on them."""
_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: the seeds of pieces lie far from each other and from other seeds' pieces."""


class Opening(NamedTuple):
    """How the first piece of a stream is read before the rest, to be heard at once."""

    end: int
    """Offset in the passage up to which the model reads."""
    style: Style
    """The prosody is that of a little more than `end` phonemes: rows of voices belong to lengths, and that of
    the whole passage would speak so few phonemes a tenth too slowly."""


@dataclass(frozen=True)
class Section:
    """A passage that is ready to be spoken, or one without phonemes, whose words are left out."""

    passage: Passage
    breaks: Mapping[int, Break]
    piece_ends: Sequence[int]
    """Offsets in the passage at which its pieces end."""
    style: Style
    speed: float
    seed: int
    stretch: bool = True
    """Speak to the length that the speed promises; False leaves the speed to the model."""
    gain: np.float32 | None = None
    """Factor of the samples; None leaves them as the model computes them."""
    opening: Opening | None = None
    """None reads all of the passage before its first piece."""
    voice: str = ""
    """The voice's name, or a blend; empty for an array."""


@dataclass(frozen=True)
class SpeechPlan:
    """A checked request, divided into sections and pieces."""

    sections: tuple[Section, ...]
    max_phonemes: int
    """Most phonemes of one utterance."""
    pauses: Mapping[Break, float]
    """Seconds of silence to add after each kind of break."""
    trim: bool
    """Shorten the silence at the beginning, and end with that of `end_pause`."""
    end_pause: float
    """Seconds of silence at the end."""

    @property
    def phonemes(self) -> str:
        """All phonemes of the request."""
        return "".join(section.passage.phonemes for section in self.sections)

    @property
    def lengths(self) -> list[int]:
        """Phonemes of each piece."""
        ends = [[0, *section.piece_ends] for section in self.sections]
        return [end - start for section in ends for start, end in pairwise(section)]


def plan_portions(
    capabilities: Capabilities, request: Request, portions: Iterable[Portion], *, whole: bool
) -> Iterator[SpeechPlan]:
    """Yields the plan of each portion of a request's input when it is taken.

    Args:
        capabilities: capabilities of the bundle.
        request: the voice, and how to speak.
        portions: the input, with phonemes.
        whole: leave in one piece what fits into one utterance, as `one_pass` does; otherwise begin with a
            short piece.

    Raises:
        InputError: a portion cannot be synthesised; `EmptyInputError` if none has phonemes.
    """
    phonemes = text = 0
    silent: list[Section] = []
    for portion in portions:
        before = {"phonemes_before": phonemes, "text_before": text}
        plan = plan_speech(capabilities, request, portion, whole=whole, **before)
        phonemes += len(plan.phonemes)
        text += sum(len(section.passage.text) for section in plan.sections)
        if phonemes:
            yield replace(plan, sections=(*silent, *plan.sections))
            silent = []
        else:
            silent += plan.sections
    if not phonemes:
        raise EmptyInputError("".join([section.passage.text for section in silent]).strip())


def plan_speech(
    capabilities: Capabilities,
    request: Request,
    portion: Portion,
    *,
    whole: bool,
    phonemes_before: int = 0,
    text_before: int = 0,
) -> SpeechPlan:
    """Checks all values of a request, and divides a portion of its input into pieces.

    Args:
        capabilities: capabilities of the bundle.
        request: the voice, and how to speak.
        portion: the input, with phonemes.
        whole: as in `plan_portions`.
        phonemes_before: phonemes of earlier portions.
        text_before: characters of the text of earlier portions.

    Raises:
        InputError: the request cannot be synthesised.
    """
    request = _checked(request)
    whole = whole or request.one_pass
    passages = read_input(portion.content, request.g2p, portion.sentences)
    sections: list[Section] = []
    for number, passage in enumerate(passages, 1):
        check_phonemes(passage.phonemes, capabilities.vocabulary, passage.words)
        check_pause(passage.pause)
        if request.g2p is None and not passage.words and looks_like_text(passage.phonemes):
            # The line that is shown is the caller's of `Bundle.synthesize` or `Bundle.stream`.
            warnings.warn(TextAsPhonemesWarning(passage.phonemes), stacklevel=5)
        followed = number < len(passages) or portion.followed
        section = _section(capabilities, request, passage, followed, phonemes_before, whole)
        sections.append(replace(section, passage=_moved(passage, text_before)))
        phonemes_before += len(passage.phonemes)
        text_before += len(passage.text)
    pauses = {Break.SENTENCE: request.sentence_pause, Break.CLAUSE: request.clause_pause}
    # From a list: a tuple of a generator grows CPython's free lists.
    return SpeechPlan(tuple(sections), capabilities.max_phonemes, pauses, request.trim, request.end_pause)


def piece_seed(seed: int, first: int) -> int:
    """Returns the seed of the piece whose first phoneme is `first` phonemes after those of `seed`."""
    return (seed + _SEED_STEP * first) % 2**64


def _checked(request: Request) -> Request:
    """Returns a request with numbers of Python's own types."""
    check_type("trim", request.trim, (bool, np.bool_), "True or False")
    check_type("stretch", request.stretch, bool, "True or False")
    check_type("one_pass", request.one_pass, bool, "True or False")
    if request.g2p is not None and not callable(request.g2p):
        raise ArgumentTypeError("g2p", "a function that takes a text", request.g2p)
    return replace(
        request,
        sentence_pause=check_pause(request.sentence_pause),
        clause_pause=check_pause(request.clause_pause),
        end_pause=check_pause(request.end_pause),
        seed=check_seed(request.seed),
        loudness=None if request.loudness is None else check_loudness(request.loudness),
    )


def _section(
    capabilities: Capabilities,
    request: Request,
    passage: Passage,
    followed: bool,
    phonemes_before: int,
    whole: bool,
) -> Section:
    """Returns the section of a passage; another segment follows on one that is `followed`."""
    phonemes, limit = passage.phonemes, capabilities.max_phonemes
    breaks = find_breaks(phonemes, _sentence_starts(passage) if passage.words else None)
    ended = followed or passage.text.endswith("\n")
    if ended and breaks[len(phonemes)] is Break.WORD and not passage.pause:
        # A heading or a paragraph without punctuation, and not a sentence with a pause within it.
        breaks[len(phonemes)] = Break.SENTENCE
    if whole and len(phonemes) <= limit:
        ends = [len(phonemes)]
    else:
        size = min(LARGEST_PIECE, (limit + 1) // 2)
        ends = split(phonemes, breaks, limit=limit, size=size, before=phonemes_before)
    voice = request.voice if passage.voice is None else passage.voice
    style = style_row(capabilities.voices, voice, min(len(phonemes), limit) or 1)
    speed = check_speed(request.speed if passage.speed is None else passage.speed)
    gain = None
    if request.loudness is not None:
        gain = voice_gain(capabilities.loudness(), capabilities.voices, voice, request.loudness)
    seed = piece_seed(request.seed, phonemes_before)
    opening = None
    if ends and not whole and phonemes_before < FIRST_CLAUSE:
        read = _opening_end(phonemes, breaks, ends[0], limit)
        if read < len(phonemes):
            row = style_row(capabilities.voices, voice, min(5 * read // 4, len(phonemes), limit))
            opening = Opening(read, Style(style.decoder, row.prosody))
    return Section(
        passage, breaks, ends, style, speed, seed, request.stretch, gain, opening, voice_name(voice)
    )


def _opening_end(phonemes: str, breaks: Mapping[int, Break], first_end: int, limit: int) -> int:
    """Returns up to where an opening is read whose piece ends at `first_end`: between words if it can."""
    most = min(limit, first_end + LOOKAHEAD)
    places = range(most, max(first_end, most - LOOKAHEAD // 2), -1)
    return min(len(phonemes), next((at for at in places if at in breaks), most))


def _moved(passage: Passage, text_before: int) -> Passage:
    """Returns a passage with the offsets of its unspoken words in the text of the whole speech."""
    unspoken = [Unspoken(word, offset + text_before) for word, offset in passage.unspoken]
    return replace(passage, unspoken=tuple(unspoken))


def _sentence_starts(passage: Passage) -> list[int]:
    """Returns the phonemes at which sentences of the passage begin after others, as its text shows."""
    sentences = passage.sentences
    if sentences is None:
        # Whoever gives phonemes need not wait for its import.
        from .sentences import find_sentences

        sentences = [first for first, _ in find_sentences(passage.text)[1:]]
    starts, words = [], iter(passage.words)
    word = next(words, None)
    for first in sentences:
        before = None
        while word and word.text_offset < first:
            before, word = word, next(words, None)
        # One word may be the end of a sentence and the beginning of another.
        if word and before and before.text_offset + len(before.text) <= first:
            starts.append(word.first)
    return starts
