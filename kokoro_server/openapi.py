"""The server's interface for programs, `/openapi.json`, and for people, `/docs`."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from runtime_min import __version__

from .ascii_json import JSONAnswer
from .encoders import FORMATS, RATES
from .page import answer_page
from .requests import LONGEST_VOICE, LOUDEST, MODELS, STREAM_FORMATS

PATH, PAGE = "/openapi.json", "/docs"

_TEXT, _NUMBER, _YES_OR_NO = {"type": "string"}, {"type": "number"}, {"type": "boolean"}


def _field(schema: dict[str, Any], default: Any, description: str) -> dict[str, Any]:
    return {**schema, "default": default, "description": description}


_MANNER = {
    "voice": {
        "anyOf": [
            {"type": "string", "maxLength": LONGEST_VOICE},
            {"type": "object", "properties": {"id": _TEXT}, "required": ["id"]},
        ],
        "description": "A voice, a blend such as af_heart*0.7+am_adam*0.3, or one of OpenAI's names.",
    },
    "model": _field({**_TEXT, "enum": list(MODELS)}, MODELS[0], "All are the bundle's model."),
    "response_format": {**_TEXT, "enum": list(FORMATS), "description": "The audio format, without it mp3."},
    "sample_rate": {
        "type": "integer",
        "enum": list(RATES),
        "description": "Samples a second. Some formats have fewer rates.",
    },
    "speed": _field({**_NUMBER, "minimum": 0.25, "maximum": 4}, 1.0, "1.5 takes two thirds of the time."),
    "stretch": _field(_YES_OR_NO, True, "False leaves the speed to the model, as kokoro does."),
    "lang_code": {
        **_TEXT,
        "description": "Language of the text, such as es-MX; without it that of each voice.",
    },
    "volume_multiplier": _field({**_NUMBER, "minimum": 0, "maximum": LOUDEST}, 1.0, "Factor of all samples."),
    "loudness": {**_NUMBER, "description": "LUFS of every voice, such as -18; without it each voice's own."},
    "end_pause": _field(_NUMBER, 0.3, "Seconds of silence at the end."),
}
_READING = {
    "ssml": _field(_YES_OR_NO, False, "True if the text is an SSML document."),
    "skip_emoji": _field(_YES_OR_NO, False, "True leaves emoji out of an English text."),
    "allow_voice_tags": _field(_YES_OR_NO, False, "True reads [voice:am_adam] and [rate:0.9] in the text."),
    "voice_aliases": _field({"type": "object"}, {}, "Voices by their names in these tags."),
}
_SENT = {"stream_format": _field({**_TEXT, "enum": list(STREAM_FORMATS)}, "audio", "Audio, or events.")}
_CAPTIONED = {
    "stream": _field(_YES_OR_NO, True, "False answers with one JSON object in place of lines."),
    "return_timestamps": _field(_YES_OR_NO, True, "False leaves the times of words out."),
}
_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {**_TEXT, "description": "What was expected and found, and what to do."},
                "type": _TEXT,
                "param": {"type": ["string", "null"], "description": "The field that is wrong."},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}


def _object(required: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [required], "properties": {required: _TEXT, **properties}}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS = {
    "SpeechRequest": _object("input", {**_MANNER, **_READING, **_SENT}),
    "CaptionsRequest": _object("input", {**_MANNER, **_READING, **_CAPTIONED}),
    "PhonemesRequest": _object("phonemes", _MANNER),
    "TextRequest": _object(
        "text", {"language": _field(_TEXT, "a", "A language, or kokoro's letter for it.")}
    ),
    "Error": _ERROR,
}
_AUDIO = {each.media_type: {"schema": {"type": "string", "format": "binary"}} for each in FORMATS.values()}
_EVENTS = {"text/event-stream": {"schema": _TEXT}}
_JSON = {"application/json": {"schema": {"type": "object"}}}
_OPERATIONS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "/v1/audio/speech": ("post", "Speech, sent while it is made", "SpeechRequest", _AUDIO | _EVENTS),
    "/dev/captioned_speech": ("post", "Speech with the times of its words", "CaptionsRequest", _JSON),
    "/dev/generate_from_phonemes": ("post", "Speech of phonemes", "PhonemesRequest", _AUDIO),
    "/dev/phonemize": ("post", "The phonemes of a text", "TextRequest", _JSON),
    "/v1/audio/voices": ("get", "The voices", "", _JSON),
    "/v1/models": ("get", "The names of the model", "", _JSON),
    "/v1/audio/models": ("get", "The same, for Open WebUI", "", _JSON),
    "/v1/models/{name}": ("get", "One name of the model", "", _JSON),
    "/health": ("get", "200 as long as the server works", "", _JSON),
    "/metrics": ("get", "Figures for Prometheus", "", {"text/plain": {"schema": _TEXT}}),
}
_STATUSES = {
    "400": "A field is wrong, or the text cannot be spoken.",
    "401": "The key is wrong or missing.",
    "503": "The server is busy: ask again after Retry-After.",
}


def _operation(path: str, summary: str, schema: str, content: dict[str, Any]) -> dict[str, Any]:
    refused = {"application/json": {"schema": _reference("Error")}}
    answers = {status: {"description": text, "content": refused} for status, text in _STATUSES.items()}
    found: dict[str, Any] = {
        "summary": summary,
        "operationId": path.strip("/").replace("/", "_").replace("{", "").replace("}", ""),
        "responses": {"200": {"description": summary, "content": content}, **answers},
    }
    if schema:
        body = {"application/json": {"schema": _reference(schema)}}
        found["requestBody"] = {"required": True, "content": body}
    if "{name}" in path:
        found["parameters"] = [{"name": "name", "in": "path", "required": True, "schema": _TEXT}]
    return found


def document(*, with_key: bool) -> dict[str, Any]:
    """Returns the description in OpenAPI 3.1.

    Args:
        with_key: requests must carry a key.
    """
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Kokoro",
            "version": __version__,
            "summary": "Text to speech, as OpenAI's API has it",
        },
        "paths": {path: {each[0]: _operation(path, *each[1:])} for path, each in _OPERATIONS.items()},
        "components": {"schemas": SCHEMAS},
    }
    if with_key:
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"key": []}]
    return found


def openapi(*, with_key: bool) -> Callable[[Request], Awaitable[Response]]:
    """Returns the endpoint of `PATH`."""

    async def answer(request: Request) -> Response:
        return JSONAnswer(document(with_key=with_key))

    return answer


async def docs(request: Request) -> Response:
    """Answers with the description as a page."""
    return answer_page("".join(_lines()).encode())


_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;width:100%}code{font-size:.9em}h2{font-size:1.1rem}"
    "td{border-top:1px solid #8886;padding:.3rem .6rem;vertical-align:top}"
)


def _lines() -> Iterator[str]:
    yield '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Kokoro: the API</title>'
    yield f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    yield f'<h1>Kokoro</h1><p>Version {__version__}, as <a href="openapi.json">OpenAPI</a>. '
    yield '<a href=".">Hear it</a>.</p>'
    for path, (method, summary, schema, _) in _OPERATIONS.items():
        yield f"<h2><code>{method.upper()} {html.escape(path)}</code></h2><p>{html.escape(summary)}.</p>"
        if schema:
            yield "<table>"
            for name, field in SCHEMAS[schema]["properties"].items():
                yield f"<tr><td><code>{name}</code></td><td>{html.escape(_shown(field))}</td></tr>"
            yield "</table>"
    yield "</body></html>"


def _shown(field: dict[str, Any]) -> str:
    """Returns a field in a line."""
    parts = [field.get("description", "Required.")]
    if "enum" in field:
        parts.append(f"One of {', '.join(map(str, field['enum']))}.")
    if "minimum" in field:
        parts.append(f"From {field['minimum']:g} to {field['maximum']:g}.")
    if field.get("default") not in (None, {}):
        parts.append(f"Default: {str(field['default']).lower()}.")
    return " ".join(parts)
