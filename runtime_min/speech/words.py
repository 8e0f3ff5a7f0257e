"""The input of speech: text or phonemes, words with phonemes, or segments with a voice and speed each.

>>> read_input([Word("Hi", "hˈI", " "), Word("you", "ju")], None)[0].phonemes
'hˈI ju'
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeGuard

from ..errors import EmptyInputError, SpokenTypeError
from ..model.voices import VoiceLike


@dataclass(frozen=True)
class Word:
    """A word of a text. Any object with these three attributes will do, such as misaki's tokens."""

    text: str
    """The word in the text."""
    phonemes: str | None
    """Empty if the word is not spoken, as many marks are; None if it should be and cannot."""
    whitespace: str = ""
    """Whitespace after the word; not empty if a space follows, which is spoken as a token of its own. A line
    break in it may end a sentence."""


@dataclass(frozen=True)
class Segment:
    """A part of the input with a voice or speed of its own, spoken like an utterance of its own."""

    content: str | Sequence[Word]
    """Text among segments of text; phonemes or words among segments of phonemes."""
    voice: VoiceLike | None = None
    """The segment's voice; None for the voice of the call."""
    speed: float | None = None
    """The segment's speed; None for the speed of the call."""
    pause: float = 0.0
    """Seconds of silence to add between this segment and the next one, at least."""
    language: str | None = None
    """The language of text, such as ``es-MX``; None for that of the call, or else of the voice."""


TextInput = str | Sequence[Segment]


class Flush(Enum):
    """The type of `FLUSH`."""

    FLUSH = "flush"


FLUSH = Flush.FLUSH
"""Among the pieces of a text that arrives bit by bit: speak what is there."""
TextPieces = Iterable[str | Flush] | AsyncIterable[str | Flush]
"""A text that arrives bit by bit, cut anywhere."""
PhonemeInput = str | Sequence[Word] | Sequence[Segment]
G2P = Callable[[str], str | Sequence[Word]]
OwnWords = Mapping[str, str | Mapping[str, str]]
"""An app's own words: phonemes, or phonemes by part of speech (``DEFAULT``, ``NOUN``, ``VBD`` …)."""
_WORD_ATTRIBUTES = ("text", "phonemes", "whitespace")


class WordSpan(NamedTuple):
    """The phonemes of a word within a passage."""

    text: str
    first: int
    """Offset of its first phoneme."""
    end: int
    """Offset past its last phoneme."""
    spaced: bool
    """A space follows the last phoneme."""
    text_offset: int
    """Offset of the word in the text, as far as words and whitespace show it."""


class Unspoken(NamedTuple):
    """A word without phonemes that are known: it is left out of the speech."""

    text: str
    offset: int
    """Offset of the word in the text of all segments together, as far as words and whitespace show it."""


@dataclass(frozen=True)
class Passage:
    """A segment in one form, whatever the caller gave."""

    phonemes: str
    """Empty if nothing of its text can be spoken."""
    words: tuple[WordSpan, ...]
    """Empty where only phonemes are known."""
    text: str
    """The text of all words and the whitespace between them."""
    unspoken: tuple[Unspoken, ...]
    """The words that are left out."""
    voice: VoiceLike | None
    speed: float | None
    pause: float
    sentences: Sequence[int] | None = None
    """Offsets in the text at which sentences begin after others; None if nobody has looked for them."""

    def linked(self, link: Link) -> Passage:
        """Returns the passage between its neighbours; the space behind it is its own."""
        shift = len(link.before)
        words = [word._replace(first=word.first + shift, end=word.end + shift) for word in self.words]
        space = " " if link.is_open and link.is_spaced else ""
        if words and space:
            words[-1] = words[-1]._replace(spaced=words[-1].end == shift + len(self.phonemes))
        phonemes = f"{link.before}{self.phonemes}{space}{link.after}"
        return replace(self, phonemes=phonemes, words=tuple(words))


class Link(NamedTuple):
    """How a portion of a text that arrives bit by bit goes on from the one before and into the next."""

    before: str = ""
    """The phonemes before, which are read with it and not spoken again."""
    after: str = ""
    """Phonemes of the word after it, which are read with it and not spoken yet."""
    is_open: bool = False
    """What follows is read with this one before it."""
    is_spaced: bool = False
    """White space follows."""
    is_last: bool = False
    """The speech ends with it."""


@dataclass(frozen=True)
class Portion:
    """As much of the input as is planned at once: all of it, or the next few sentences of a long text."""

    content: TextInput | PhonemeInput
    """Phonemes, words or segments of them; text where the request has a `g2p`."""
    sentences: Sequence[int] | None = None
    """Offsets in the text of its words at which sentences begin after others, if they were found already."""
    followed: bool = False
    """The next portion is another segment."""
    link: Link | None = None
    """For a portion of a text that arrives bit by bit."""


def read_input(
    content: TextInput | PhonemeInput, g2p: G2P | None, sentences: Sequence[int] | None = None
) -> tuple[Passage, ...]:
    """Returns the input in one form.

    Args:
        content: phonemes, words or segments; with `g2p`, text or segments of text.
        g2p: makes phonemes or words of a text.
        sentences: those of `Portion`, of a single segment.

    Raises:
        EmptyInputError: the input or a segment is empty.
        SpokenTypeError: the input or the result of `g2p` is none of these.
    """
    segments: Any = content
    if not _is_list(content) or not all(isinstance(item, Segment) for item in content):
        segments = [Segment(content)]  # type: ignore[arg-type]
    # From lists, here and below: a tuple of a generator grows CPython's free lists.
    return tuple([_read_segment(segment, g2p, sentences) for segment in segments])


def _read_segment(segment: Segment, g2p: G2P | None, sentences: Sequence[int] | None) -> Passage:
    content: Any = segment.content
    if g2p is not None:
        if not isinstance(content, str):
            raise SpokenTypeError("text as str, because a g2p was given", content)
        whole = Word(content, None)
        content = g2p(content)
    words: tuple[WordSpan, ...] = ()
    unspoken: tuple[Unspoken, ...] = ()
    text = ""
    if isinstance(content, Sequence) and not content:
        if g2p is None:
            raise EmptyInputError
        content = [whole]
    if isinstance(content, str):
        phonemes = content
    elif _is_list(content) and all(hasattr(item, name) for item in content for name in _WORD_ATTRIBUTES):
        phonemes, words, unspoken = _join_words(content)
        text = "".join([word.text + (word.whitespace or "") for word in content])
    else:
        expected = "phonemes as str, a sequence of words (text, phonemes, whitespace)"
        source = " from the g2p" if g2p else " or a sequence of segments"
        raise SpokenTypeError(expected + source, content)
    own = (segment.voice, segment.speed, segment.pause)
    return Passage(phonemes, words, text, unspoken, *own, sentences)


def _join_words(words: Sequence[Word]) -> tuple[str, tuple[WordSpan, ...], tuple[Unspoken, ...]]:
    """Returns the words' phonemes with the spaces between them, the span of each word, and what is left out.

    As in kokoro's `KPipeline.tokens_to_ps`, spaces at both ends are not spoken.
    """
    parts: list[str] = []
    spans: list[WordSpan] = []
    unspoken: list[Unspoken] = []
    length = text_offset = 0
    for word in words:
        phonemes = "" if word.phonemes is None else word.phonemes
        space_after = "" if word.whitespace is None else word.whitespace
        if not all(isinstance(part, str) for part in (word.text, phonemes, space_after)):
            raise SpokenTypeError("words whose text, phonemes and whitespace are str", word)
        spaced = bool(space_after)
        if not length:
            phonemes = phonemes.lstrip()
        if phonemes.endswith(" ") and not spaced:
            phonemes, spaced = phonemes[:-1], True
        space = " " if spaced and (length or phonemes) else ""
        if phonemes:
            spans.append(WordSpan(word.text, length, length + len(phonemes), bool(space), text_offset))
        if word.phonemes is None and word.text.strip():
            unspoken.append(Unspoken(word.text, text_offset))
        parts.append(phonemes + space)
        length += len(phonemes) + len(space)
        text_offset += len(word.text) + len(space_after)
    joined = "".join(parts).rstrip()
    heard = [_within(span, len(joined)) for span in spans if span.first < len(joined)]
    return joined, tuple(heard), tuple(unspoken)


def _within(span: WordSpan, length: int) -> WordSpan:
    return span._replace(end=min(span.end, length), spaced=span.spaced and span.end < length)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value) > 0
