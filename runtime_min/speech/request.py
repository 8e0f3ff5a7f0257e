"""Checks requests, and plans how to speak them; nothing is computed here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentTypeError,
    EmptyInputError,
    LoudnessError,
    PauseError,
    SeedError,
    SpeedError,
    SpokenTypeError,
    TextAsPhonemesWarning,
    TooManyPhonemesError,
    UnknownPhonemesError,
    check_type,
)
from ..model.loudness import voice_gain
from ..model.synthesiser import Utterance
from ..model.voices import Style, VoiceLike, style_row
from .split import Break, find_breaks, split
from .text_as_phonemes import looks_like_text
from .words import G2P, Passage, Segment, SpeechInput, Unspoken, WordSpan, read_input

LOWEST_SPEED = 0.25
HIGHEST_SPEED = 4.0
LONGEST_PAUSE = 60.0
"""Seconds."""
LOWEST_LOUDNESS, HIGHEST_LOUDNESS = -50.0, -14.0
"""LUFS. Of louder speech more than the rare peaks would be bent."""
END_PAUSE = 0.3
"""Seconds. With the silence before the next speech it is as long as a pause between sentences of one text."""
LARGEST_PIECE = 250
"""Phonemes. Larger pieces need more memory, and kokoro is known to rush beyond 400."""
_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: the seeds of pieces lie far from each other and from other seeds' pieces."""


@dataclass(frozen=True)
class Capabilities:
    """The voices, phonemes and lengths that a bundle can speak."""

    voices: Mapping[str, NDArray[np.float32]]
    """Style rows by voice, ``[rows, columns]``."""
    vocabulary: Mapping[str, int]
    max_phonemes: int
    """Most phonemes of one utterance."""
    loudness: Callable[[], Mapping[str, int]] = dict
    """Returns the loudness of the voices that were measured, in hundredths of LUFS, by name."""


@dataclass(frozen=True)
class Request:
    """A caller's request, not checked yet; `Bundle.synthesize` describes the fields."""

    phonemes: SpeechInput
    voice: VoiceLike
    speed: float
    seed: int
    g2p: G2P | None
    sentence_pause: float
    clause_pause: float
    trim: bool
    text: bool = False
    ssml: bool = False
    skip_emoji: bool = False
    language: str | None = None
    lexicon: Any = None
    ends_segment: bool = False
    """The next part of the speech is another segment."""
    end_pause: float = END_PAUSE
    loudness: float | None = None
    stretch: bool = True

    @property
    def is_text(self) -> bool:
        """True if the bundle makes phonemes of the input, which is text or SSML."""
        return self.g2p is None and (self.text or self.ssml)


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
    """Reach a speed that the model does not go well by a time stretch."""
    gain: np.float32 | None = None
    """Factor of the samples; None leaves them as the model computes them."""


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


def plan_parts(
    capabilities: Capabilities, requests: Iterable[Request], *, whole: bool
) -> Iterator[SpeechPlan]:
    """Yields the plans of a speech whose input comes in parts, each when it is taken; see `plan_speech`.

    Raises:
        InputError: a part cannot be synthesised; `EmptyInputError` if none has phonemes.
    """
    phonemes = text = 0
    silent: list[Section] = []
    for request in requests:
        plan = plan_speech(capabilities, request, whole=whole, phonemes_before=phonemes, text_before=text)
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
    *,
    whole: bool,
    phonemes_before: int = 0,
    text_before: int = 0,
) -> SpeechPlan:
    """Checks all values of a request, and divides it into pieces.

    Args:
        capabilities: capabilities of the bundle.
        request: input, voice, speed and seed.
        whole: leave in one piece what fits into one utterance; otherwise begin with a short piece.
        phonemes_before: phonemes of earlier parts of the speech.
        text_before: characters of the text of earlier parts.

    Raises:
        InputError: the request cannot be synthesised.
    """
    pauses = {
        Break.SENTENCE: check_pause(request.sentence_pause),
        Break.CLAUSE: check_pause(request.clause_pause),
    }
    check_type("trim", request.trim, (bool, np.bool_), "True or False")
    check_type("stretch", request.stretch, bool, "True or False")
    if request.g2p is not None and not callable(request.g2p):
        raise ArgumentTypeError("g2p", "a function that takes a text", request.g2p)
    seed, limit = check_seed(request.seed), capabilities.max_phonemes
    loudness = None if request.loudness is None else check_loudness(request.loudness)
    sections: list[Section] = []
    passages = read_input(request.phonemes, request.g2p)
    for number, passage in enumerate(passages, 1):
        if passage.unspoken:
            shifted = [Unspoken(word, offset + text_before) for word, offset in passage.unspoken]
            passage = replace(passage, unspoken=tuple(shifted))
        text_before += len(passage.text)
        phonemes = passage.phonemes
        check_phonemes(phonemes, capabilities.vocabulary, passage.words)
        check_pause(passage.pause)
        if request.g2p is None and not passage.words and looks_like_text(phonemes):
            # The line that is shown is the caller's of `Bundle.synthesize` or `Bundle.stream`.
            warnings.warn(TextAsPhonemesWarning(phonemes), stacklevel=5)
        voice = request.voice if passage.voice is None else passage.voice
        breaks = find_breaks(phonemes, _sentence_starts(passage) if passage.words else None)
        ended = number < len(passages) or request.ends_segment or passage.text.endswith("\n")
        if ended and breaks[len(phonemes)] is Break.WORD and not passage.pause:
            # A heading or a paragraph without punctuation, and not a sentence with a pause within it.
            breaks[len(phonemes)] = Break.SENTENCE
        if whole and len(phonemes) <= limit:
            ends = [len(phonemes)]
        else:
            size = min(LARGEST_PIECE, (limit + 1) // 2)
            ends = split(phonemes, breaks, limit=limit, size=size, before=phonemes_before)
        style = style_row(capabilities.voices, voice, min(len(phonemes), limit) or 1)
        speed = check_speed(request.speed if passage.speed is None else passage.speed)
        gain = None
        if loudness is not None:
            gain = voice_gain(capabilities.loudness(), capabilities.voices, voice, loudness)
        own_seed = piece_seed(seed, phonemes_before)
        sections.append(Section(passage, breaks, ends, style, speed, own_seed, request.stretch, gain))
        phonemes_before += len(phonemes)
    # Of a list: see `TensorSignature.concrete`.
    return SpeechPlan(tuple(sections), limit, pauses, request.trim, check_pause(request.end_pause))


def check_segment(voices: Mapping[str, NDArray[np.float32]], segment: Segment) -> None:
    """Checks the voice, speed and pause of a segment, before the ones before it are spoken.

    Raises:
        InputError: one of them is wrong.
    """
    check_pause(segment.pause)
    if segment.speed is not None:
        check_speed(segment.speed)
    if segment.voice is not None:
        style_row(voices, segment.voice, 1)


def check_utterance(
    capabilities: Capabilities, phonemes: str, voice: VoiceLike, speed: float, seed: int
) -> Utterance:
    """Checks what is to be spoken at once.

    Raises:
        InputError: it cannot be spoken, or not at once.
    """
    speed, seed = check_speed(speed), check_seed(seed)
    if not isinstance(phonemes, str):
        raise SpokenTypeError("phonemes as str", phonemes)
    if len(phonemes) > capabilities.max_phonemes:
        raise TooManyPhonemesError(len(phonemes), capabilities.max_phonemes)
    if not phonemes:
        raise EmptyInputError
    check_phonemes(phonemes, capabilities.vocabulary)
    return Utterance(phonemes, style_row(capabilities.voices, voice, len(phonemes)), speed, seed)


def check_phonemes(phonemes: str, vocabulary: Mapping[str, int], words: Sequence[WordSpan] = ()) -> None:
    """Refuses unknown phonemes, which kokoro would drop.

    Args:
        phonemes: the phonemes to speak.
        vocabulary: token number by phoneme.
        words: source of the phonemes, for the message.

    Raises:
        UnknownPhonemesError: some are not in the vocabulary.
    """
    unknown: dict[str, list[int]] = {}
    for position, phoneme in enumerate(phonemes):
        if phoneme not in vocabulary:
            unknown.setdefault(phoneme, []).append(position)
    if unknown:
        positions = {position for found in unknown.values() for position in found}
        affected = [word for word in words if not positions.isdisjoint(range(word.first, word.end))]
        raise UnknownPhonemesError(unknown, {word.text: word.text_offset for word in affected})


def check_speed(speed: object) -> float:
    """Returns `speed` as a number.

    Raises:
        SpeedError: it is not a number from `LOWEST_SPEED` to `HIGHEST_SPEED`.
    """
    if _is_number(speed) and LOWEST_SPEED <= speed <= HIGHEST_SPEED:
        return float(speed)
    raise SpeedError(speed, LOWEST_SPEED, HIGHEST_SPEED)


def check_pause(seconds: object) -> float:
    """Returns a pause as a number.

    Raises:
        PauseError: it is not a number from 0 to `LONGEST_PAUSE`.
    """
    if _is_number(seconds) and 0 <= seconds <= LONGEST_PAUSE:
        return float(seconds)
    raise PauseError(seconds, LONGEST_PAUSE)


def check_loudness(loudness: object) -> float:
    """Returns a loudness as a number.

    Raises:
        LoudnessError: it is not a number from `LOWEST_LOUDNESS` to `HIGHEST_LOUDNESS`.
    """
    if _is_number(loudness) and LOWEST_LOUDNESS <= loudness <= HIGHEST_LOUDNESS:
        return float(loudness)
    raise LoudnessError(loudness, LOWEST_LOUDNESS, HIGHEST_LOUDNESS)


def check_seed(seed: object) -> int:
    """Returns `seed` as an integer.

    Raises:
        SeedError: it is not an integer from 0 to 2**64 - 1.
    """
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and 0 <= seed < 1 << 64:
        return int(seed)
    raise SeedError(seed)


def piece_seed(seed: int, first: int) -> int:
    """Returns the seed of the piece whose first phoneme is `first` phonemes after those of `seed`."""
    return (seed + _SEED_STEP * first) % 2**64


def _sentence_starts(passage: Passage) -> list[int]:
    """Returns the phonemes at which sentences of the passage begin after others, as its text shows."""
    # Whoever gives phonemes need not wait for its import.
    from .sentences import find_sentences

    starts, words = [], iter(passage.words)
    word = next(words, None)
    for first, _ in find_sentences(passage.text)[1:]:
        before = None
        while word and word.text_offset < first:
            before, word = word, next(words, None)
        # One word may be the end of a sentence and the beginning of another.
        if word and before and before.text_offset + len(before.text) <= first:
            starts.append(word.first)
    return starts


def _is_number(value: Any) -> TypeGuard[float]:
    # bool is a subclass of int. NaN is a number, and fails every comparison.
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
