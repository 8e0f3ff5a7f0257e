"""What an app gives to be spoken: phonemes, words with phonemes, or segments with a voice and speed each.

>>> read_spoken([Word("Hi", "hˈI", " "), Word("you", "ju")], None)[0].phonemes
'hˈI ju'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import EmptyInputError, SpokenTypeError, UnknownPhonemesError
from ..model.tokens import find_unknown
from ..model.voices import VoiceLike


@dataclass(frozen=True)
class Word:
    """A word of a text. Any object with these three attributes will do, such as misaki's tokens."""

    text: str
    """As the reader sees it."""
    phonemes: str | None
    """What is spoken; empty or None where nothing is."""
    whitespace: str = ""
    """Not empty if a space follows, which is spoken as a token of its own."""


@dataclass(frozen=True)
class Segment:
    """A part of the input with a voice or speed of its own, spoken like an utterance of its own."""

    phonemes: str | Sequence[Word]
    """Phonemes or words, or text where a `g2p` is given."""
    voice: VoiceLike | None = None
    """By default that of the call."""
    speed: float | None = None
    """By default that of the call."""


Spoken = str | Sequence[Word] | Sequence[Segment]
G2P = Callable[[str], str | Sequence[Word]]


class WordSpan(NamedTuple):
    """Where a word's phonemes stand."""

    text: str
    first: int
    """Offset of its first phoneme."""
    end: int
    """Offset past its last phoneme."""
    spaced: bool
    """A space follows the last phoneme."""
    offset: int
    """Where the word stands in the text, as far as words and whitespace tell."""


@dataclass(frozen=True)
class Passage:
    """A segment in one form, whatever the caller gave."""

    phonemes: str
    words: tuple[WordSpan, ...]
    """Empty where only phonemes are known."""
    voice: VoiceLike | None
    speed: float | None


def read_spoken(spoken: Spoken, g2p: G2P | None) -> tuple[Passage, ...]:
    """Brings the input into one form.

    Args:
        spoken: phonemes, words or segments; with `g2p`, text or segments of text.
        g2p: makes phonemes or words of a text.

    Raises:
        EmptyInputError: there is nothing to speak, as a whole or in a segment.
        SpokenTypeError: the input or what `g2p` returned is none of these.
    """
    whole = isinstance(spoken, str) or not _all(spoken, Segment)
    segments = [Segment(spoken)] if whole else spoken  # type: ignore[arg-type]
    # Of lists, here and below: see `TensorSignature.concrete`.
    return tuple([_read_segment(segment, g2p) for segment in segments])  # type: ignore[arg-type]


def check_phonemes(passage: Passage, vocabulary: Mapping[str, int]) -> None:
    """Refuses phonemes that are not in the vocabulary, and names the words in which they stand.

    Raises:
        UnknownPhonemesError: there are some.
    """
    if unknown := find_unknown(passage.phonemes, vocabulary):
        positions = {position for found in unknown.values() for position in found}
        words = {
            word.text: word.offset
            for word in passage.words
            if not positions.isdisjoint(range(word.first, word.end))
        }
        raise UnknownPhonemesError(unknown, words)


def _read_segment(segment: Segment, g2p: G2P | None) -> Passage:
    found = segment.phonemes
    if g2p is not None:
        if not isinstance(found, str):
            raise SpokenTypeError("text as str, because a g2p was given", found)
        found = g2p(found)
    spans: tuple[WordSpan, ...] = ()
    if isinstance(found, Sequence) and not found:
        raise EmptyInputError
    if isinstance(found, str):
        phonemes = found
    elif _all(found, Word) or _all(found, ("text", "phonemes", "whitespace")):
        phonemes, spans = _join_words(found)
    else:
        expected = "phonemes as str, a sequence of words (text, phonemes, whitespace)"
        raise SpokenTypeError(f"{expected}{' from the g2p' if g2p else ' or a sequence of segments'}", found)
    if not phonemes:
        raise EmptyInputError
    return Passage(phonemes, spans, segment.voice, segment.speed)


def _join_words(words: Sequence[Word]) -> tuple[str, tuple[WordSpan, ...]]:
    """Returns the words' phonemes with the spaces between them, and where each word's stand.

    As in kokoro's `KPipeline.tokens_to_ps`, spaces at both ends are not spoken.
    """
    parts: list[str] = []
    spans = []
    length = offset = 0
    for word in words:
        phonemes = word.phonemes or ""
        if not isinstance(phonemes, str) or not isinstance(word.text, str):
            raise SpokenTypeError("words whose text and phonemes are str", word)
        if not length:
            phonemes = phonemes.lstrip()
        space = " " if word.whitespace and (length or phonemes) else ""
        if phonemes:
            spans.append(WordSpan(word.text, length, length + len(phonemes), bool(space), offset))
        parts.append(phonemes + space)
        length += len(phonemes) + len(space)
        offset += len(word.text) + len(word.whitespace or "")
    joined = "".join(parts).rstrip()
    return joined, tuple([_within(span, len(joined)) for span in spans if span.first < len(joined)])


def _within(span: WordSpan, length: int) -> WordSpan:
    return span._replace(end=min(span.end, length), spaced=span.spaced and span.end < length)


def _all(items: object, kind: type | tuple[str, ...]) -> bool:
    """Tells whether `items` is a sequence of `kind`, or of objects that have the attributes `kind`."""
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)) or not items:
        return False
    if isinstance(kind, type):
        return all(isinstance(item, kind) for item in items)
    return all(all(hasattr(item, name) for name in kind) for item in items)
