"""Timings as subtitles (SRT, WebVTT) or JSON.

>>> print(as_vtt([Cue(0.5, 1.25, "a < b")]))
WEBVTT
<BLANKLINE>
00:00:00.500 --> 00:00:01.250
a &lt; b
<BLANKLINE>
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from typing import NamedTuple

from ..errors import ArgumentTypeError, check_type
from ..output.formats import timings_format
from ..output.writer import as_path, write_file
from .sentences import find_sentences
from .split import Break, find_breaks
from .timing import Timing

_MOST_CHARACTERS = 84
"""Two lines of 42, as broadcasters allow."""
_MOST_SECONDS = 7.0
_PAUSE = 1.0
"""Seconds of silence after which a new cue begins."""
Span = tuple[int, int]
_FIRST_IDEOGRAPH = "\u2e80"
_WINDOW = 200
"""Characters ahead in the text in which a word is looked for."""


class Cue(NamedTuple):
    """A line of text and when it is shown, in seconds."""

    start: float
    end: float
    text: str


@dataclass
class _Shown:
    """A word with the punctuation around it."""

    text: str
    spaced: bool
    """True if a space comes before it."""
    begins: bool
    """True if a sentence begins with it."""
    start: float
    end: float


def write_timings(
    path: str | os.PathLike[str], text: str, words: Sequence[Timing], tokens: Sequence[Timing]
) -> None:
    """Writes timings in the format that the path's suffix names, one of `formats.TIMINGS`.

    Args:
        path: the file, which appears whole or not at all.
        text: the spoken text, as it is to be shown.
        words: times of each word; if there are none, the words are what spaces separate.
        tokens: times of each phoneme.

    Raises:
        OutputError: it cannot be written.
        UsageError: an argument is wrong, such as a path with another suffix.
    """
    place = as_path(path)
    suffix = timings_format(place)
    check_type("text", text, str, "a str")
    for name, timings in {"words": words, "tokens": tokens}.items():
        if not isinstance(timings, Sequence) or not all(isinstance(each, Timing) for each in timings):
            raise ArgumentTypeError(name, "a sequence of Timing", timings)
    shown = cues(text, words) if words else cues(text, phoneme_words(text, tokens), _phoneme_sentences(text))
    write = {".srt": lambda: as_srt(shown), ".vtt": lambda: as_vtt(shown)}
    content = write.get(suffix, lambda: as_json(text, words, tokens))()
    write_file(place, content.encode("utf-8", "replace"))


def phoneme_words(text: str, tokens: Iterable[Timing]) -> list[Timing]:
    """Returns as words the phonemes between the spaces and line breaks of `text`.

    If `text` does not consist of these phonemes, their own spaces separate words.
    """
    spoken = list(tokens)
    letters = [token for token in spoken if not token.text.isspace()]
    if [*"".join(text.split())] == [token.text for token in letters]:
        rest = iter(letters)
        groups = [list(islice(rest, len(word))) for word in text.split()]
    else:
        groups = [list(run) for space, run in groupby(spoken, lambda token: token.text == " ") if not space]
    return [Timing("".join(token.text for token in group), group[0].start, group[-1].end) for group in groups]


def cues(text: str, words: Iterable[Timing], sentences: Sequence[Span] | None = None) -> list[Cue]:
    """Returns subtitles, in whole milliseconds: each ends after it begins and before the next one begins.

    A cue ends with a sentence, before a pause, or where it would be too long to read.

    Args:
        text: the spoken text; punctuation and spaces are taken from it.
        words: times of each word of `text`, in order.
        sentences: start and end of each sentence, if `text` is not in a language.
    """
    made: list[Cue] = []
    end = 0
    for group in _groups(_shown(text, find_sentences(text) if sentences is None else sentences, words)):
        start = max(end, round(1000 * group[0].start))
        end = max(start + 1, round(1000 * group[-1].end))
        line = "".join(" " * (word.spaced and place > 0) + word.text for place, word in enumerate(group))
        made.append(Cue(start / 1000, end / 1000, line))
    return made


def as_srt(cues: Iterable[Cue]) -> str:
    """Returns a SubRip file; an arrow in the text becomes another, because it would look like a time."""
    return "".join(
        f"{number}\n{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}\n{cue.text.replace('-->', '→')}\n\n"
        for number, cue in enumerate(cues, 1)
    )


def as_vtt(cues: Iterable[Cue]) -> str:
    """Returns a WebVTT file (https://www.w3.org/TR/webvtt1/)."""
    times = ((f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}", cue.text) for cue in cues)
    return "WEBVTT\n" + "".join(f"\n{time}\n{_escaped(text)}\n" for time, text in times)


def as_json(text: str, words: Iterable[Timing], tokens: Iterable[Timing]) -> str:
    """Returns all timings: ``{"text": …, "words": [{"text", "start", "end"}…], "tokens": […]}``."""
    import json  # here alone, so that no app waits for it

    content = {
        "text": text,
        "words": [word._asdict() for word in words],
        "tokens": [token._asdict() for token in tokens],
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _phoneme_sentences(text: str) -> list[Span]:
    ends = {at for at, kind in find_breaks(text).items() if kind is Break.SENTENCE}
    ends |= {found.end() for found in re.finditer(r"\n\s*\n", text)}
    return list(pairwise(sorted({0, *ends, len(text)})))


def _shown(text: str, sentences: Iterable[Span], words: Iterable[Timing]) -> list[_Shown]:
    """Returns the words with the punctuation that stands between them in the text."""
    reader = _Reader(*_joined(text, sentences))
    for word in words:
        reader.read(word)
    return reader.shown()


class _Reader:
    """Finds words in a text, one after the other, and shares out what stands between them."""

    def __init__(self, source: str, starts: Sequence[int]) -> None:
        """Takes the text with single spaces, and where its sentences begin."""
        self._source = source
        self._starts = starts
        self._position = 0
        self._shown: list[_Shown] = []

    def read(self, word: Timing) -> None:
        """Finds the next word; one that is written otherwise ("twenty" for 20) gets its text later."""
        written = " ".join(word.text.split())
        found = self._source.find(written, self._position, self._position + len(written) + _WINDOW)
        if written and found >= 0:
            self._add(word, written, found)
        elif self._shown and not self._shown[-1].text:
            self._shown[-1].end = word.end
        else:
            self._shown.append(_Shown("", True, False, word.start, word.end))

    def shown(self) -> list[_Shown]:
        """Returns the words that have a text; the last has the rest of it."""
        if self._shown:
            last, rest = self._shown[-1], self._source[self._position :]
            last.text += rest if last.text else rest.strip()
        return [word for word in self._shown if word.text]

    def _add(self, word: Timing, written: str, found: int) -> None:
        """Divides what stands between the last word and this one at a sentence, or else at the last space."""
        begins, cut = self._cut(found)
        before, after = self._source[self._position : cut], self._source[cut:found]
        last = self._shown[-1] if self._shown else None
        if begins and last and not last.text and not any(map(str.isalnum, before)):
            # The word that is written otherwise begins the sentence.
            if len(self._shown) > 1:
                self._shown[-2].text += before.rstrip()
            start, cut = cut, self._source.rfind(" ", cut, found) + 1 or cut
            before, after = self._source[start:cut], self._source[cut:found]
            last.begins, begins = True, not before
        if last:
            last.text += before.rstrip() if last.text else before.strip()
        else:
            after = before + after
        self._shown.append(_Shown(after + written, before[-1:] == " ", begins, word.start, word.end))
        self._position = found + len(written)

    def _cut(self, found: int) -> tuple[bool, int]:
        """Returns whether a sentence begins after the last word, and where the text of this one begins."""
        place = bisect_right(self._starts, found) - 1
        if place >= 0 and self._starts[place] >= self._position:
            return True, self._starts[place]
        return False, self._source.rfind(" ", self._position, found) + 1 or self._position


def _joined(text: str, sentences: Iterable[Span]) -> tuple[str, list[int]]:
    """Returns the text with single spaces, and where its sentences begin."""
    parts: list[str] = []
    starts: list[int] = []
    length = before = 0
    for start, end in sentences:
        sentence = " ".join(text[start:end].split())
        if not sentence:
            continue
        space = " " if parts and text[before : start + 1] != text[start : start + 1] else ""
        starts.append(length + len(space))
        parts += [space, sentence]
        length += len(space) + len(sentence)
        before = end
    return "".join(parts), starts


def _groups(words: Iterable[_Shown]) -> Iterator[list[_Shown]]:
    group: list[_Shown] = []
    for word in words:
        if group and _ends_before(group, word):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _ends_before(group: list[_Shown], word: _Shown) -> bool:
    last = group[-1]
    if word.begins:
        return True
    # Punctuation stays with its word; Chinese and Japanese have no spaces to cut at.
    if not word.spaced and word.text[:1] < _FIRST_IDEOGRAPH:
        return False
    characters = sum(len(each.text) + each.spaced for each in group) + len(word.text)
    return (
        word.start - last.end >= _PAUSE
        or characters > _MOST_CHARACTERS
        or word.end - group[0].start > _MOST_SECONDS
    )


def _clock(seconds: float, point: str) -> str:
    milliseconds = round(1000 * seconds)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
