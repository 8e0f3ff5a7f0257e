"""Speaks a request: text to phonemes, to pieces of audio, to bytes of the wanted format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from runtime_min import Bundle, Timing, Unspoken, VoiceName

from . import metrics
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
    with closing(encoder(request.format)) as output:
        for audio in bundle.pieces(
            request.text,
            request.voice,
            speed=request.speed,
            ssml=request.ssml,
            skip_emoji=request.skip_emoji,
            language=language,
            end_pause=request.end_pause,
            loudness=request.loudness,
        ):
            samples = audio.samples if request.volume == 1 else request.volume * audio.samples
            seconds = len(samples) / SAMPLE_RATE
            metrics.AUDIO.inc(seconds)
            metrics.UNSPOKEN.inc(len(audio.unspoken))
            data = output.encode(samples)
            yield SpokenPiece(data, audio.words, len(audio.phonemes), seconds, audio.unspoken)
        yield SpokenPiece(output.finish(), (), 0, 0.0)
