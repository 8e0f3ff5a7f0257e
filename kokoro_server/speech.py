"""Speaks a request: text to phonemes, to pieces of audio, to bytes of the wanted format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from runtime_min import Bundle, SpeechOptions, Timing, Unspoken, VoiceName

from . import metrics
from .ascii_json import as_json
from .encoders import SAMPLE_RATE, encoder
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
    language = request.language
    if language is None and VoiceName(request.voice).language is None:
        language = "en-US"
    with closing(encoder(request.format, request.sample_rate)) as output:
        manner: SpeechOptions = {
            "speed": request.speed,
            "end_pause": request.end_pause,
            "loudness": request.loudness,
            "stretch": request.stretch,
        }
        if request.phonemes:
            found = bundle.pieces(voice=request.voice, phonemes=request.text, **manner)
        else:
            manner |= {"ssml": request.ssml, "skip_emoji": request.skip_emoji, "language": language}
            found = bundle.pieces(list(request.segments) or request.text, request.voice, **manner)
        for audio in found:
            samples = audio.samples if request.volume == 1 else request.volume * audio.samples
            seconds = len(samples) / SAMPLE_RATE
            metrics.AUDIO.inc(seconds)
            metrics.UNSPOKEN.inc(len(audio.unspoken))
            data = output.encode(samples)
            yield SpokenPiece(data, audio.words, len(audio.phonemes), seconds, audio.unspoken)
        yield SpokenPiece(output.finish(), (), 0, 0.0)


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
