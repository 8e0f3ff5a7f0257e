"""Speaks a request: text to phonemes, to pieces of audio, to bytes of the wanted format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from runtime_min import Audio, Bundle, SpeechOptions, Timing, Unspoken, VoiceName

from . import metrics
from .ascii_json import as_json
from .encoders import SAMPLE_RATE, Encoder, encoder
from .requests import SpeechRequest

FRAMES_PER_SECOND = 40


class SpokenPiece(NamedTuple):
    """A piece of speech as bytes. An encoder may hold some of them back until a later piece."""

    data: bytes
    words: tuple[Timing, ...]
    phonemes: int
    seconds: float
    unspoken: tuple[Unspoken, ...] = ()


def speak(bundle: Bundle, request: SpeechRequest) -> Iterator[SpokenPiece]:
    """Speaks piece by piece; each is computed when it is taken, and a long text is read in parts until then.

    Raises:
        KokoroError: the request cannot be spoken; if by its voices or markup, before the first piece.
    """
    with closing(encoder(request.format, request.sample_rate)) as output:
        manner = _manner(request)
        if request.phonemes:
            found = bundle.pieces(voice=request.voice, phonemes=request.text, **manner)
        else:
            manner |= {"ssml": request.ssml, **_reading(request)}
            found = bundle.pieces(list(request.segments) or request.text, request.voice, **manner)
        for audio in found:
            yield _encoded(audio, output, request.volume)
        yield SpokenPiece(output.finish(), (), 0, 0.0)


class LiveSpeech:
    """Speaks a text that arrives bit by bit, in bytes of the wanted format; nothing here waits."""

    def __init__(self, bundle: Bundle, request: SpeechRequest) -> None:
        """Takes the manner of a request; its text is pushed.

        Raises:
            KokoroError: the request cannot be spoken.
        """
        manner: SpeechOptions = {**_manner(request), **_reading(request)}
        self._speech = bundle.live(request.voice, **manner)
        self._output = encoder(request.format, request.sample_rate)
        self._ended = False

    @property
    def is_ready(self) -> bool:
        """True if `pieces` has something to speak."""
        return self._speech.is_ready

    def push(self, text: str) -> None:
        """Takes the next part of the text."""
        self._speech.push(text)

    def flush(self) -> None:
        """Has all that is there spoken."""
        self._speech.flush()

    def end(self) -> None:
        """Ends the text."""
        self._speech.end()
        self._ended = True

    def pieces(self) -> Iterator[SpokenPiece]:
        """Yields what is certain to be complete; each piece is computed when it is taken.

        Raises:
            KokoroError: it cannot be spoken.
        """
        for audio in self._speech.pieces():
            yield _encoded(audio, self._output, 1.0)
        if self._ended:
            yield SpokenPiece(self._output.finish(), (), 0, 0.0)

    def close(self) -> None:
        """Ends the encoder's threads, also before the end of the text."""
        self._output.close()


def _manner(request: SpeechRequest) -> SpeechOptions:
    return {
        "speed": request.speed,
        "end_pause": request.end_pause,
        "loudness": request.loudness,
        "stretch": request.stretch,
    }


def _reading(request: SpeechRequest) -> SpeechOptions:
    language = request.language
    if language is None and VoiceName(request.voice).language is None:
        language = "en-US"
    return {"skip_emoji": request.skip_emoji, "language": language}


def _encoded(audio: Audio, output: Encoder, volume: float) -> SpokenPiece:
    samples = audio.samples if volume == 1 else volume * audio.samples
    seconds = len(samples) / SAMPLE_RATE
    metrics.AUDIO.inc(seconds)
    metrics.UNSPOKEN.inc(len(audio.unspoken))
    return SpokenPiece(output.encode(samples), audio.words, len(audio.phonemes), seconds, audio.unspoken)


def phonemes(bundle: Bundle, text: str, language: str) -> Iterator[SpokenPiece]:
    """Yields Kokoro-FastAPI's answer with the phonemes of a text, whose list of tokens is always empty.

    Raises:
        KokoroError: the language cannot be spoken, or the text cannot be read.
    """
    _, g2p = bundle.find_g2p(language)
    found: Any = g2p(text)
    if not isinstance(found, str):
        found = "".join((word.phonemes or "") + (" " if word.whitespace else "") for word in found)
    yield SpokenPiece(as_json({"phonemes": found.strip(), "tokens": []}), (), 0, 0.0)
