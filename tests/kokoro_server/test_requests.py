"""Whatever a body holds, it is a request or is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kokoro_server.encoders import FORMATS
from kokoro_server.errors import RequestError
from kokoro_server.requests import MODELS, SpeechRequest, read_request
from kokoro_server.speech import speak
from tests.support.fakes.speech_server import VOICES, FakeBundle

FIELDS = """input voice model response_format speed stream_format lang_code volume_multiplier stream
    return_timestamps ssml instructions loudness end_pause stretch""".split()
SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SIMPLE | st.sampled_from([*MODELS, *FORMATS]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["id"]), inner),
    max_leaves=3,
)


def check(request: SpeechRequest) -> None:
    for name in ("text", "voice", "format"):
        assert isinstance(getattr(request, name), str)
    assert request.format in FORMATS and 0 <= request.volume <= 10
    for number in (request.speed, request.end_pause, request.loudness or 0):
        assert isinstance(number, (int, float)) and not isinstance(number, bool)
    assert request.language is None or isinstance(request.language, str)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_fields_of_any_type_make_a_request_or_an_error_that_can_be_shown(fields: dict[str, Any]) -> None:
    try:
        check(read_request(json.dumps({"input": "Hi.", **fields}).encode(), ["af_heart"]))
    except RequestError as error:
        assert error.status in (400, 404)
        json.dumps(error.content, allow_nan=False).encode()


def test_a_request_has_its_own_loudness_or_that_of_the_server() -> None:
    for fields, server, expected in (({}, None, None), ({}, -18, -18), ({"loudness": -20.5}, -18, -20.5)):
        content = json.dumps({"input": "Hi.", **fields}).encode()
        assert read_request(content, ["af_heart"], server).loudness == expected


@given(st.binary())
def test_bytes_are_a_request_or_refused(content: bytes) -> None:
    with suppress(RequestError):
        check(read_request(content, ["af_heart"]))


def test_what_is_left_out_or_null_has_openais_default() -> None:
    expected = SpeechRequest("Hi.", "af_heart", 1.0, "mp3", None, 1.0, False, True, True)
    nulls = dict.fromkeys(("voice", "speed", "response_format", "stream_format", "model"))
    for fields in ({}, nulls, {"instructions": "Whisper.", "unknown": [1]}):
        assert read_request(json.dumps({"input": "Hi.", **fields}).encode(), ["af_heart"]) == expected


def test_a_language_without_a_voice_chooses_one_that_speaks_it() -> None:
    for fields, voice in (({"lang_code": "es-MX"}, "ef_dora"), ({"lang_code": ""}, "af_heart")):
        assert read_request(json.dumps({"input": "Hola", **fields}).encode(), VOICES).voice == voice
    fields = {"input": "Hola", "lang_code": "es-MX", "voice": "af_heart"}
    request = read_request(json.dumps(fields).encode(), VOICES)
    assert (request.voice, request.language) == ("af_heart", "es-MX")


def test_each_voice_of_a_document_reads_its_own_language() -> None:
    class Recording(FakeBundle):
        def pieces(self, *spoken: Any, **options: Any) -> Any:
            languages.append(options["language"])
            return iter(())

    languages: list[str | None] = []
    for voice, language in (("ef_dora", None), ("mine", None), ("ef_dora", "it")):
        for _ in speak(Recording(), SpeechRequest("Hola", voice, format="pcm", language=language)):  # type: ignore[arg-type]
            pass
    assert languages == [None, "en-US", "it"]
