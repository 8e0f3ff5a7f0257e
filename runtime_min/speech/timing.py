"""Timings of tokens and words, by the rule of kokoro's `KPipeline.join_timestamps`.

A token lasts as long as the model predicted, and a space belongs in halves to the words around it. All times
are earlier by three frames than the durations add up to, or by the first boundary token if that is shorter:
kokoro found that speech begins before that token ends.
"""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..format.signatures import SAMPLE_RATE
from ..output.audio_file import audio_bytes, write_wav
from ..output.formats import FORMATS
from ..output.wav import encode
from ..output.writer import Writable, as_path, write_to
from .words import Unspoken, WordSpan

LEAD_FRAMES = 3
"""Speech begins so many frames before the first boundary token ends."""


class Timing(NamedTuple):
    """A phoneme or word and its time, in seconds from the beginning of the whole speech."""

    text: str
    """A phoneme, or a word as the reader sees it."""
    start: float
    end: float


@dataclass(frozen=True)
class Audio:
    """Speech, or a piece of it."""

    samples: NDArray[np.float32]
    """``[n]``, mono, full scale is 1."""
    sample_rate: int
    """Samples a second."""
    durations: NDArray[np.int64]
    """``[tokens]``, frames of each token: the boundary before, the phonemes, the boundary after.

    Those of stretched speech are rounded, so a short one may have 0."""
    phonemes: str = ""
    """All that is spoken."""
    tokens: tuple[Timing, ...] = ()
    """Time of each phoneme."""
    words: tuple[Timing, ...] = ()
    """Time of each word that has phonemes, if words were given."""
    start: float = 0.0
    """Seconds from the beginning of the whole speech at which `samples` begin, in pieces of a stream."""
    unspoken: tuple[Unspoken, ...] = ()
    """Words of the text that could not be spoken; those of a segment are in its first piece, or in that of
    a segment beside it that has phonemes."""
    voice: str = ""
    """Name of the voice that speaks, or a blend; several are separated by commas and spaces. Empty for an
    array of style rows."""
    text: str = ""
    """The text that is spoken, with what is between its words, if words were given."""
    word_ends: tuple[int, ...] = ()
    """Offset in `text` at which each of `words` ends."""

    def __repr__(self) -> str:
        voice = f"{self.voice}, " if self.voice else ""
        length = f"{self.duration:.2f} s at {self.sample_rate} Hz"
        return f"<Audio: {voice}{length}, {len(self.phonemes)} phonemes>"

    def _repr_html_(self) -> str:
        """Returns a player with the voice and the length, which notebooks show in place of the repr."""
        label = html.escape(", ".join(filter(None, (self.voice, f"{self.duration:.2f} s"))))
        data = base64.b64encode(self.to_bytes()).decode()
        return f'<figure><audio controls src="data:audio/wav;base64,{data}"></audio> {label}</figure>'

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.samples)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Returns the samples, for functions that take an array."""
        found: NDArray[Any] = np.asarray(self.samples, dtype)
        if found is self.samples:
            return found.copy() if copy else found
        if copy is False:
            raise ValueError(f"Samples of {self.samples.dtype} cannot become {found.dtype} without a copy.")
        return found

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.sample_rate

    def save(
        self,
        file: str | os.PathLike[str] | Writable,
        sample_format: str = "pcm16",
        *,
        format: str | None = None,
    ) -> None:
        """Writes the samples to a file, in the format that its name ends with.

        Args:
            file: a path that ends with ``.wav``, or, with the package soundfile, ``.flac``, ``.mp3``,
                ``.ogg`` or ``.opus`` (both Opus); it is written whole or not at all. Or an object with a
                method `write` that takes bytes, such as an open file, a socket's file or an `io.BytesIO`.
            sample_format: ``pcm16`` or, for a WAV file, ``float``.
            format: for an object, as in `to_bytes`; a path's name has it.

        Raises:
            OutputError: it cannot be written.
            UsageError: no format is named, or an argument is wrong.
            InstallationError: soundfile is missing.
        """
        if isinstance(file, Writable):
            if format is None:
                raise UsageError(f"A file object needs a format: name one of {', '.join(FORMATS)}.")
            write_to(file, self.to_bytes(format, sample_format))
        elif format is not None:
            raise UsageError("The name of a file has its format: leave format out, or give an open file.")
        else:
            write_wav(as_path(file, "file"), self.samples, self.sample_rate, sample_format)

    def to_bytes(self, format: str = "wav", sample_format: str = "pcm16") -> bytes:
        """Returns the content of a file with the samples.

        Args:
            format: ``wav``, or, with the package soundfile, ``flac``, ``mp3``, ``ogg`` or ``opus``.
            sample_format: as in `save`.

        Raises:
            UsageError: there is no such format, or an argument is wrong.
            InstallationError: soundfile is missing.
        """
        return audio_bytes(self.samples, self.sample_rate, format, sample_format)

    def pcm16(self) -> bytes:
        """Returns the samples, clipped to full scale and rounded to 16 bits, as little-endian bytes."""
        return encode(self.samples)

    def heard(self, seconds: float) -> str:
        """Returns the text up to the end of the word that is heard at a time.

        This is for an app whose user interrupts the speech: what its language model should know as said is
        ``"".join(piece.heard(seconds) for piece in played)``.

        Args:
            seconds: from the beginning of the whole speech, as `start` and the times of words.
        """
        begun = sum(word.start <= seconds for word in self.words)
        if begun == len(self.words) and seconds >= self.start + self.duration:
            return self.text
        return self.text[: self.word_ends[begun - 1]] if begun else ""

    @staticmethod
    def join(pieces: Iterable[Audio]) -> Audio:
        """Returns the pieces of a stream, or a stream itself, as one.

        Raises:
            ValueError: there are none.
        """
        found = list(pieces)
        if not found:
            raise ValueError("There are no pieces to join: give those of a stream, in order.")
        return Audio(
            np.concatenate([piece.samples for piece in found]) if len(found) > 1 else found[0].samples,
            found[0].sample_rate,
            np.concatenate([piece.durations for piece in found]),
            "".join(piece.phonemes for piece in found),
            # From lists: a tuple of a generator grows CPython's free lists.
            tuple([timing for piece in found for timing in piece.tokens]),
            tuple([timing for piece in found for timing in piece.words]),
            found[0].start,
            tuple([word for piece in found for word in piece.unspoken]),
            ", ".join(dict.fromkeys(piece.voice for piece in found if piece.voice)),
            "".join(piece.text for piece in found),
            tuple(_joined_ends(found)),
        )


def _joined_ends(pieces: Iterable[Audio]) -> Iterator[int]:
    length = 0
    for piece in pieces:
        yield from [length + end for end in piece.word_ends]
        length += len(piece.text)


class Clock:
    """The places of a passage's phonemes in the output, filled piece by piece."""

    def __init__(self, phonemes: str, words: Sequence[WordSpan], text: str) -> None:
        """Takes the phonemes, words and text of the passage."""
        self._phonemes = phonemes
        self._words = list(reversed(words))
        self._text = text
        self._told = 0
        """Characters of the text that were returned."""
        self._starts = np.zeros(len(phonemes), np.int64)
        self._lengths = np.zeros(len(phonemes), np.int64)

    def place(self, first: int, start: int, starts: NDArray[np.int64]) -> None:
        """Puts the phonemes from `first` on into the output.

        Args:
            first: offset of the first phoneme.
            start: sample of the output at which the rendering begins, earlier by the lead.
            starts: samples of the rendering at which each phoneme begins, and the end of the last.
        """
        end = first + len(starts) - 1
        self._lengths[first:end] = np.diff(starts)
        self._starts[first:end] = start + starts[:-1]

    def tokens(self, first: int, end: int) -> tuple[Timing, ...]:
        """Returns the timings of the tokens from `first` to before `end`."""
        starts, lengths = self._starts[first:end], self._lengths[first:end]
        times = zip(self._phonemes[first:end], starts, starts + lengths, strict=True)
        return tuple([_timing(text, start, stop) for text, start, stop in times])

    def words(self, end: int, *, at_end: bool) -> tuple[tuple[Timing, ...], tuple[int, ...], str]:
        """Returns the timings of the words that end by `end`, with their space, and are still to come.

        Beside them are the text up to the next word, or to the end of all, and the offsets in it at which
        they end.
        """
        found, ends, start = [], [], self._told
        while self._words and self._words[-1].end + self._words[-1].spaced <= end:
            word = self._words.pop()
            found.append(self._word(word))
            ends.append(word.text_offset + len(word.text) - start)
        if at_end:
            self._told = len(self._text)
        elif self._words:
            self._told = self._words[-1].text_offset
        return tuple(found), tuple(ends), self._text[start : self._told]

    def _word(self, word: WordSpan) -> Timing:
        start, last = self._starts[word.first], word.end - 1
        stop = self._starts[last] + self._lengths[last]
        if word.first and self._phonemes[word.first - 1] == " ":
            start -= self._lengths[word.first - 1] // 2
        if word.spaced:
            stop += self._lengths[word.end] // 2
        return _timing(word.text, start, stop)


def _timing(text: str, start: int, end: int) -> Timing:
    return Timing(text, max(0, int(start)) / SAMPLE_RATE, max(0, int(end)) / SAMPLE_RATE)
