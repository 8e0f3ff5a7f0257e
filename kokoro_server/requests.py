"""Requests for speech: the fields of OpenAI's and Kokoro-FastAPI's requests, checked."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from runtime_min import Segment

from .encoders import FORMATS, SAMPLE_RATE
from .errors import RequestError
from .voice_tags import read_aliases, read_voice_tags
from .voices import default_voice, known_voice, nearest_voice

MODELS = ("kokoro", "tts-1", "tts-1-hd", "gpt-4o-mini-tts", "gpt-4o-mini-tts-2025-12-15")
"""Names under which clients may ask for the bundle's model."""
STREAM_FORMATS = ("audio", "sse")
LONGEST_VOICE = 1_000
LOUDEST = 10.0
_UNSUPPORTED = ("return_download_link",)
"""Fields of Kokoro-FastAPI that change what is answered, and so are refused if they are true."""


@dataclass(frozen=True)
class SpeechRequest:
    """A request for speech. All other fields of a request are ignored."""

    text: str
    voice: str
    """Voice or blend, in the runtime's spelling."""
    speed: float = 1.0
    format: str = "mp3"
    language: str | None = None
    """None for the voice's language."""
    volume: float = 1.0
    sse: bool = False
    """Answer with server-sent events."""
    stream: bool = True
    """Answer line by line; for captions only."""
    timestamps: bool = True
    """True if captions have timestamps."""
    ssml: bool = False
    skip_emoji: bool = False
    end_pause: float = 0.3
    """Seconds of silence at the end."""
    loudness: float | None = None
    """LUFS of every voice; None for the voice's own."""
    sample_rate: int = SAMPLE_RATE
    """Samples a second of the answer."""
    phonemes: bool = False
    """True if the text is phonemes."""
    segments: tuple[Segment, ...] = ()
    """The text in parts, where it has voices and speeds of its own."""
    stretch: bool = True
    """False leaves the speed to the model."""


def read_request(
    content: bytes, voices: Collection[str], loudness: float | None = None, *, phonemes: bool = False
) -> SpeechRequest:
    """Returns the request in a body.

    Args:
        content: JSON.
        voices: the bundle's voices.
        loudness: LUFS of requests that name none.
        phonemes: read `phonemes` in place of `input`, for a WAV file.

    Raises:
        RequestError: it is not a JSON object, or a field has a wrong type or value.
    """
    fields = _fields(content)
    check_model(_field(fields, "model", str, MODELS[0]))
    for name in _UNSUPPORTED:
        if _field(fields, name, bool, False):
            raise RequestError(400, f"{name} is not supported: leave it out.", name)
    volume = _field(fields, "volume_multiplier", (int, float), 1.0)
    if not 0 <= volume <= LOUDEST:
        raise RequestError(400, f"volume_multiplier must be from 0 to {LOUDEST:g}.", "volume_multiplier")
    language = _field(fields, "lang_code", str, None) or None
    audio_format = _choice(fields, "response_format", tuple(FORMATS), "wav" if phonemes else "mp3")
    text = _field(fields, "phonemes" if phonemes else "input", str)
    speed = _field(fields, "speed", (int, float), 1.0)
    ssml = _field(fields, "ssml", bool, False) and not phonemes
    aliases = read_aliases(_field(fields, "voice_aliases", dict, {}))
    segments: list[Segment] = []
    if _field(fields, "allow_voice_tags", bool, False) and not (ssml or phonemes):
        segments = read_voice_tags(text, speed, aliases, voices)
    return SpeechRequest(
        text,
        _voice(fields, voices, language),
        speed,
        audio_format,
        language,
        volume,
        _choice(fields, "stream_format", STREAM_FORMATS, "audio") == "sse",
        _field(fields, "stream", bool, True),
        _field(fields, "return_timestamps", bool, True),
        ssml,
        _field(fields, "skip_emoji", bool, False),
        _field(fields, "end_pause", (int, float), 0.3),
        _field(fields, "loudness", (int, float), loudness),
        _sample_rate(fields, audio_format),
        phonemes,
        tuple(segments),
        _field(fields, "stretch", bool, True),
    )


def read_text(content: bytes) -> tuple[str, str]:
    """Returns the text and its language of a request for phonemes.

    Raises:
        RequestError: it is not a JSON object, or a field has a wrong type.
    """
    fields = _fields(content)
    return _field(fields, "text", str), _field(fields, "language", str, "a") or "a"


def _fields(content: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"The body is not JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise RequestError(400, "The body must be a JSON object.")
    return fields


def check_model(name: str) -> None:
    """Refuses the name of another model.

    Raises:
        RequestError: it is not one of `MODELS`.
    """
    if name not in MODELS:
        message = f"There is no model {name[:80]!r}: expected one of {', '.join(MODELS)}."
        raise RequestError(404, message, "model", "model_not_found")


def _voice(fields: dict[str, Any], voices: Collection[str], language: str | None) -> str:
    voice = fields.get("voice")
    # OpenAI's own voices are objects.
    if isinstance(voice, dict):
        voice = _field(voice, "id", str)
    elif voice is not None:
        voice = _field(fields, "voice", str)
    if voice and len(voice) > LONGEST_VOICE:
        raise RequestError(400, f"A voice has at most {LONGEST_VOICE} characters.", "voice")
    if voice is not None:
        return known_voice(voice, voices)
    return default_voice(voices) if language is None else nearest_voice(language, voices, "lang_code")


def _sample_rate(fields: dict[str, Any], audio_format: str) -> int:
    chosen = FORMATS[audio_format]
    rate: int = _field(fields, "sample_rate", int, chosen.default_rate)
    if rate not in chosen.rates:
        known = ", ".join(map(str, chosen.rates))
        raise RequestError(
            400, f"sample_rate of {audio_format} must be one of {known}, found {rate}.", "sample_rate"
        )
    return rate


def _choice(fields: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    value: str = _field(fields, name, str, default)
    if value not in choices:
        raise RequestError(400, f"{name} must be one of {', '.join(choices)}, found {value[:80]!r}.", name)
    return value


_REQUIRED = object()


def _field(fields: dict[str, Any], name: str, kind: Any, default: Any = _REQUIRED) -> Any:
    """Returns a field; null counts as a missing field.

    Raises:
        RequestError: it is of another type, or missing without a default.
    """
    value = fields.get(name)
    if value is None and default is not _REQUIRED:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wrong = "is missing" if value is None else f"has the wrong type: {json.dumps(value)[:80]}"
        raise RequestError(400, f"The field {name} {wrong}.", name)
    return value
