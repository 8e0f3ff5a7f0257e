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
    source, starts = _joined(text, sentences)
    shown: list[_Shown] = []
    position = 0
    for word in words:
        written = " ".join(word.text.split())
        found = source.find(written, position, position + len(written) + _WINDOW)
        if not written or found < 0:
            # Such as "twenty" for 20: the text between its neighbours becomes its text.
            if shown and not shown[-1].text:
                shown[-1].end = word.end
            else:
                shown.append(_Shown("", True, False, word.start, word.end))
            continue
        place = bisect_right(starts, found) - 1
        begins = place >= 0 and starts[place] >= position
        cut = starts[place] if begins else source.rfind(" ", position, found) + 1 or position
        before, after = source[position:cut], source[cut:found]
        if begins and shown and not shown[-1].text and not any(map(str.isalnum, before)):
            # The word that is written otherwise begins the sentence.
            if len(shown) > 1:
                shown[-2].text += before.rstrip()
            start, cut = cut, source.rfind(" ", cut, found) + 1 or cut
            before, after = source[start:cut], source[cut:found]
            shown[-1].begins, begins = True, not before
        if shown:
            shown[-1].text += before.rstrip() if shown[-1].text else before.strip()
        else:
            after = before + after
        shown.append(_Shown(after + written, before[-1:] == " ", begins, word.start, word.end))
        position = found + len(written)
    if shown:
        shown[-1].text += source[position:] if shown[-1].text else source[position:].strip()
    return [word for word in shown if word.text]


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
