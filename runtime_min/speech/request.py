"""A request for speech, and the checks of what it holds; nothing is computed here."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    EmptyInputError,
    LoudnessError,
    PauseError,
    SeedError,
    SpeedError,
    SpokenTypeError,
    TooManyPhonemesError,
    UnknownPhonemesError,
    UsageError,
)
from ..model.statistics import Statistics
from ..model.synthesiser import Utterance
from ..model.voices import VoiceLike, style_row
from .words import G2P, OwnWords, PhonemeInput, Portion, Segment, TextInput, TextPieces, WordSpan

LOWEST_SPEED = 0.25
HIGHEST_SPEED = 4.0
LONGEST_PAUSE = 60.0
"""Seconds."""
LOWEST_LOUDNESS, HIGHEST_LOUDNESS = -50.0, -14.0
"""LUFS. Of louder speech more than the rare peaks would be bent."""
END_PAUSE = 0.3
"""Seconds. With the silence before the next speech it is as long as a pause between sentences of one text."""


class SpeechOptions(TypedDict, total=False):
    """The options of `Bundle.synthesize`, `stream` and `pieces`, which `Bundle.synthesize` describes.

    A function that hands options on declares them as ``**options: Unpack[SpeechOptions]``.
    """

    speed: float
    seed: int
    ssml: bool
    skip_emoji: bool
    language: str | None
    lexicon: OwnWords | None
    g2p: G2P | None
    sentence_pause: float
    clause_pause: float
    trim: bool
    end_pause: float
    loudness: float | None
    stretch: bool
    one_pass: bool


@dataclass(frozen=True, kw_only=True)
class Request:
    """A caller's request; the values are not checked yet. `Bundle.synthesize` describes the fields."""

    text: TextInput | None = None
    phonemes: PhonemeInput | None = None
    """None if there is text."""
    voice: VoiceLike = "af_heart"
    speed: float = 1.0
    seed: int = 0
    ssml: bool = False
    skip_emoji: bool = False
    language: str | None = None
    lexicon: OwnWords | None = None
    g2p: G2P | None = None
    sentence_pause: float = 0.0
    clause_pause: float = 0.0
    trim: bool = False
    end_pause: float = END_PAUSE
    loudness: float | None = None
    stretch: bool = True
    one_pass: bool = False

    @property
    def needs_g2p(self) -> bool:
        """True if the bundle makes phonemes of the input."""
        return self.text is not None and self.g2p is None

    @property
    def whole(self) -> Portion:
        """The whole input, for which nothing needs to be found."""
        given = self.phonemes if self.text is None else self.text
        assert given is not None
        return Portion(given)


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
    statistics: Mapping[str, Statistics] = field(default_factory=dict)
    """Statistics of the decoder's norms by voice, where they are known."""


def read_request(
    text: TextInput | None, phonemes: PhonemeInput | None, voice: VoiceLike, options: SpeechOptions
) -> Request:
    """Returns the request of a call.

    Raises:
        TypeError: there is no such option.
        UsageError: text and phonemes are both given, or neither is, or an option does not go with them.
    """
    if unknown := sorted(options.keys() - SpeechOptions.__annotations__.keys()):
        known = ", ".join(SpeechOptions.__annotations__)
        raise TypeError(f"There is no option {', '.join(unknown)}: expected text, voice, phonemes, {known}.")
    request = Request(text=text, phonemes=phonemes, voice=voice, **options)
    if (text is None) == (phonemes is None):
        found = "neither" if text is None else "both"
        raise UsageError(f"Expected either text or phonemes, found {found}: give one of them.")
    if phonemes is not None and (request.ssml or request.g2p is not None):
        option = "ssml" if request.ssml else "g2p"
        raise UsageError(f"The option {option} is for text, found phonemes: give text, or leave it out.")
    return request


def is_pieces(text: object) -> TypeGuard[TextPieces]:
    """Returns whether a text arrives bit by bit: it is iterable, and neither a str nor a list of segments."""
    if isinstance(text, (str, bytes, bytearray)):
        return False
    if isinstance(text, Sequence) and (not text or isinstance(text[0], Segment)):
        return False
    return isinstance(text, (Iterable, AsyncIterable))


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


def _is_number(value: Any) -> TypeGuard[float]:
    # bool is a subclass of int. NaN is a number, and fails every comparison.
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
