"""Timings as subtitles (SRT, WebVTT) or JSON.

>>> print(as_vtt([Cue(0.5, 1.25, "a < b")]))
WEBVTT
<BLANKLINE>
00:00:00.500 --> 00:00:01.250
a &lt; b
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..output.writer import write_file
from .timing import Timing

SUFFIXES = (".srt", ".vtt", ".json")
_MOST_CHARACTERS = 84
"""Two lines of 42, as broadcasters allow."""
_MOST_SECONDS = 7.0
_PAUSE = 1.0
"""Seconds of silence after which a new cue begins."""
_ENDS = frozenset(".!?…。！？।॥؟")
_CLOSING = "\"'”’»)]」』"
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
    start: float
    end: float


def write_timings(path: Path, text: str, words: Sequence[Timing], tokens: Sequence[Timing]) -> None:
    """Writes timings in the format that the path's suffix names, one of `SUFFIXES`.

    Args:
        path: the file, which appears whole or not at all.
        text: the spoken text, as it is to be shown.
        words: times of each word; if there are none, the words are what spaces in `tokens` separate.
        tokens: times of each phoneme.

    Raises:
        OutputError: it cannot be written.
    """
    shown = cues(text, words or phoneme_words(tokens))
    write = {".srt": lambda: as_srt(shown), ".vtt": lambda: as_vtt(shown)}
    content = write.get(path.suffix.lower(), lambda: as_json(text, words, tokens))()
    write_file(path, content.encode("utf-8", "replace"))


def phoneme_words(tokens: Iterable[Timing]) -> list[Timing]:
    """Returns the phonemes between spaces as words."""
    groups = (list(group) for spaces, group in groupby(tokens, lambda token: token.text == " ") if not spaces)
    return [Timing("".join(token.text for token in group), group[0].start, group[-1].end) for group in groups]


def cues(text: str, words: Iterable[Timing]) -> list[Cue]:
    """Returns subtitles, in whole milliseconds: each ends after it begins and before the next one begins.

    A cue ends with a sentence, before a pause, or where it would be too long to read.

    Args:
        text: the spoken text; punctuation and spaces are taken from it.
        words: times of each word of `text`, in order.
    """
    made: list[Cue] = []
    end = 0
    for group in _groups(_shown(text, words)):
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


def _shown(text: str, words: Iterable[Timing]) -> list[_Shown]:
    """Returns the words with the punctuation that stands between them in the text."""
    source = " ".join(text.split())
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
                shown.append(_Shown("", True, word.start, word.end))
            continue
        before, space, after = source[position:found].rpartition(" ")
        if shown:
            shown[-1].text += before if shown[-1].text else before.strip()
        else:
            after = f"{before}{space}{after}"
        shown.append(_Shown(after + written, bool(space), word.start, word.end))
        position = found + len(written)
    if shown:
        shown[-1].text += source[position:] if shown[-1].text else source[position:].strip()
    return [word for word in shown if word.text]


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
    # Punctuation stays with its word; Chinese and Japanese have no spaces to cut at.
    if not word.spaced and word.text[:1] < _FIRST_IDEOGRAPH:
        return False
    characters = sum(len(each.text) + each.spaced for each in group) + len(word.text)
    return (
        last.text.rstrip(_CLOSING)[-1:] in _ENDS
        or word.start - last.end >= _PAUSE
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
