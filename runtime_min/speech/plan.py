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
from ..model.statistics import SHORTEST_ROW, Statistics, voice_statistics
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
from .split import FIRST_CLAUSE, Break, find_breaks, first_words, split
from .text_as_phonemes import looks_like_text
from .words import Link, Passage, Portion, Unspoken, read_input

LARGEST_PIECE = 250
"""Phonemes. Larger pieces need more memory, and kokoro is known to rush beyond 400."""
CONTEXT = 100
"""Most phonemes of each neighbour that are read too."""
LOOKAHEAD = 40
"""Phonemes after an opening's piece that are read with it: with fewer its length depends on them."""
_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: the seeds of pieces lie far from each other and from other seeds' pieces."""


class Opening(NamedTuple):
    """How the first piece of a stream is read before the rest, to be heard at once."""

    end: int
    """Offset in the passage up to which the model reads."""
    spoken: int
    """Offset up to which it is spoken so."""
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
    link: Link | None = None
    """For a part of a text that arrives bit by bit."""
    statistics: Statistics | None = None
    """Those of the voice, for the parts that the decoder sees; None has it take those of each part."""

    @property
    def start(self) -> int:
        """Offset of the first phoneme that is spoken."""
        return len(self.link.before) if self.link else 0

    @property
    def end(self) -> int:
        """Offset behind the last phoneme that is spoken."""
        return self.piece_ends[-1] if self.piece_ends else 0

    @property
    def is_open(self) -> bool:
        """The next section goes on where this one ends."""
        return self.link is not None and self.link.is_open


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
        return "".join(each.passage.phonemes[each.start : each.end] for each in self.sections)

    @property
    def lengths(self) -> list[int]:
        """Phonemes of each piece."""
        ends = [[section.start, *section.piece_ends] for section in self.sections]
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
    planner = Planner(capabilities, request, whole=whole)
    for portion in portions:
        if plan := planner.plan(portion):
            yield plan
    planner.end()


class Planner:
    """Plans the portions of one request, one after another."""

    def __init__(self, capabilities: Capabilities, request: Request, *, whole: bool) -> None:
        """Takes what `plan_portions` takes."""
        self._capabilities = capabilities
        self._request = request
        self._whole = whole
        self._phonemes = self._text = 0
        self._context = ""
        self._silent: list[Section] = []

    def plan(self, portion: Portion) -> SpeechPlan | None:
        """Returns the plan of the next portion, or None as long as there are no phonemes.

        Raises:
            InputError: it cannot be synthesised.
        """
        if portion.link:
            portion = replace(portion, link=portion.link._replace(before=self._context))
        plan = plan_speech(
            self._capabilities,
            self._request,
            portion,
            whole=self._whole,
            phonemes_before=self._phonemes,
            text_before=self._text,
        )
        self._context = _context(self._context, plan)
        self._phonemes += len(plan.phonemes)
        self._text += sum(len(section.passage.text) for section in plan.sections)
        sections = (*self._silent, *plan.sections)
        self._silent = [] if self._phonemes else list(sections)
        return replace(plan, sections=sections) if self._phonemes else None

    def end(self) -> None:
        """Checks that something was planned.

        Raises:
            EmptyInputError: there were no phonemes.
        """
        if not self._phonemes:
            raise EmptyInputError("".join([section.passage.text for section in self._silent]).strip())


def _context(before: str, plan: SpeechPlan) -> str:
    """Returns the phonemes with which what follows on a plan is read: from the beginning of a word."""
    last = plan.sections[-1]
    if not last.is_open:
        return ""
    if not last.end:
        return before
    spoken = last.passage.phonemes[: last.end]
    return spoken if len(spoken) <= CONTEXT else spoken[-CONTEXT:].partition(" ")[2] or spoken[-CONTEXT:]


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
            warnings.warn(TextAsPhonemesWarning(passage.phonemes), stacklevel=6)
        followed = number < len(passages) or portion.followed
        link = portion.link
        if link and passage.phonemes:
            # What it cannot speak is told when it is to be spoken.
            known = capabilities.vocabulary.keys() >= set(link.after)
            link = link if known else link._replace(after="")
            passage = passage.linked(link)
        section = _section(capabilities, request, passage, followed, phonemes_before, whole, link)
        sections.append(replace(section, passage=_moved(passage, text_before)))
        phonemes_before += len(passage.phonemes)
        text_before += len(passage.text)
    pauses = {Break.SENTENCE: request.sentence_pause, Break.CLAUSE: request.clause_pause}
    # From a list: a tuple of a generator grows CPython's free lists.
    return SpeechPlan(tuple(sections), capabilities.max_phonemes, pauses, request.trim, request.end_pause)


def check_manner(capabilities: Capabilities, request: Request) -> None:
    """Checks all of a request but its text, which is still to come.

    Raises:
        InputError: a value is wrong.
    """
    _checked(request)
    check_speed(request.speed)
    style_row(capabilities.voices, request.voice, 1)
    if request.loudness is not None:
        voice_gain(capabilities.loudness(), capabilities.voices, request.voice, request.loudness)


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
    link: Link | None,
) -> Section:
    """Returns the section of a passage; another segment follows on one that is `followed`."""
    limit = capabilities.max_phonemes
    phonemes, start = passage.phonemes, len(link.before) if link and passage.phonemes else 0
    spoken = phonemes[start : len(phonemes) - len(link.after) if link else None]
    breaks = find_breaks(spoken, _sentence_starts(passage, start) if passage.words else None)
    ended = followed or passage.text.endswith("\n")
    if ended and breaks[len(spoken)] is Break.WORD and not passage.pause:
        # A heading or a paragraph without punctuation, and not a sentence with a pause within it.
        breaks[len(spoken)] = Break.SENTENCE
    if whole and len(phonemes) <= limit:
        ends = [len(phonemes)]
    else:
        size = min(LARGEST_PIECE, (limit + 1) // 2)
        ends = split(spoken, breaks, limit=limit, size=size, before=phonemes_before)
    voice = request.voice if passage.voice is None else passage.voice
    decoder_row, prosody_row = (min(row, limit) or 1 for row in _rows(len(phonemes), link))
    style = style_row(capabilities.voices, voice, prosody_row)
    if decoder_row != prosody_row:
        style = Style(style_row(capabilities.voices, voice, decoder_row).decoder, style.prosody)
    speed = check_speed(request.speed if passage.speed is None else passage.speed)
    gain = None
    if request.loudness is not None:
        gain = voice_gain(capabilities.loudness(), capabilities.voices, voice, request.loudness)
    seed = piece_seed(request.seed, phonemes_before - start)
    opening = None
    if start:
        breaks, ends = {start + at: kind for at, kind in breaks.items()}, [start + end for end in ends]
    elif ends and not whole and phonemes_before < FIRST_CLAUSE:
        read = _opening_end(phonemes, breaks, ends[0], limit)
        if read < len(phonemes):
            row = style_row(capabilities.voices, voice, min(5 * read // 4, len(phonemes), limit))
            opening = Opening(read, ends[0], Style(style.decoder, row.prosody))
    statistics = None
    if decoder_row >= SHORTEST_ROW and (link or len(ends) > 1):
        # What is decoded as a whole has the statistics of the whole.
        statistics = voice_statistics(capabilities.statistics, capabilities.voices, voice)
    if statistics and ends and not whole and not phonemes_before:
        ends = [*first_words(breaks, ends[0]), *ends]
    name = voice_name(voice)
    return Section(
        passage, breaks, ends, style, speed, seed, request.stretch, gain, opening, name, link, statistics
    )


def _rows(phonemes: int, link: Link | None) -> tuple[int, int]:
    """Returns the lengths whose style rows the decoder and the stages before it take."""
    if link and (link.before or link.is_open):
        # A part of a text whose length is not known; what is read at once is known.
        return LARGEST_PIECE, 5 * phonemes // 4
    return phonemes, phonemes


def _opening_end(phonemes: str, breaks: Mapping[int, Break], first_end: int, limit: int) -> int:
    """Returns up to where an opening is read whose piece ends at `first_end`: between words if it can."""
    most = min(limit, first_end + LOOKAHEAD)
    places = range(most, max(first_end, most - LOOKAHEAD // 2), -1)
    return min(len(phonemes), next((at for at in places if at in breaks), most))


def _moved(passage: Passage, text_before: int) -> Passage:
    """Returns a passage with the offsets of its unspoken words in the text of the whole speech."""
    unspoken = [Unspoken(word, offset + text_before) for word, offset in passage.unspoken]
    return replace(passage, unspoken=tuple(unspoken))


def _sentence_starts(passage: Passage, spoken: int) -> list[int]:
    """Returns the phonemes, from the first that is `spoken`, at which sentences begin, as the text shows."""
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
            starts.append(word.first - spoken)
    return starts
