"""What clients of Kokoro-FastAPI ask for, and rates and formats of telephony."""

from __future__ import annotations

import io
import json
from typing import Any

import av
import numpy as np
import pytest

from kokoro_server.encoders import FORMATS, SAMPLE_RATE, encoder
from kokoro_server.errors import RequestError
from kokoro_server.requests import read_request
from kokoro_server.voice_tags import Alias, read_voice_tags
from runtime_min import Audio, Segment, encode
from tests.kokoro_server.test_clients import answered
from tests.support.fakes.speech_server import VOICES, FakeBundle, Running

SECONDS = 1.5
TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(round(SECONDS * SAMPLE_RATE)) / SAMPLE_RATE)).astype(
    np.float32
)


def decoded(data: bytes, **how: Any) -> tuple[np.ndarray, int]:
    with av.open(io.BytesIO(data), **how) as container:
        frames = list(container.decode(audio=0))
    samples = np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])
    integer = np.issubdtype(samples.dtype, np.integer)
    return samples / np.iinfo(samples.dtype).max if integer else samples, frames[0].sample_rate


def encoded(name: str, rate: int) -> bytes:
    made = encoder(name, rate)
    return b"".join([*(made.encode(part) for part in np.array_split(TONE, 7)), made.finish()])


def pitch(samples: np.ndarray, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * rate / len(samples))


@pytest.mark.parametrize("name", FORMATS)
def test_every_rate_of_a_format_keeps_the_pitch_the_length_and_the_level(name: str) -> None:
    raw = {"pcm": "s16le", "ulaw": "mulaw"}.get(name)
    for rate in FORMATS[name].rates:
        data = encoded(name, rate)
        how = {"format": raw, "options": {"sample_rate": str(rate)}} if raw else {}
        samples, found = decoded(data, **how)
        # Opus is always decoded at 48 kHz.
        assert found == (48_000 if name == "opus" else rate)
        # Encoders that have frames add up to two of them.
        added = 2 * 1_152 / rate if name in ("mp3", "aac", "opus") else 0.001
        assert -0.001 < len(samples) / found - SECONDS < added
        assert pitch(samples, found) == pytest.approx(440, abs=1)
        middle = samples[len(samples) // 4 : -len(samples) // 4]
        # LAME scales by 0.95, so that its noise does not clip.
        level = 0.5 / np.sqrt(2) * (0.95 if name == "mp3" else 1)
        assert np.sqrt(np.mean(middle**2)) == pytest.approx(level, rel=0.02)


def test_the_model_s_own_rate_is_not_touched() -> None:
    assert encoded("pcm", SAMPLE_RATE) == encode(TONE)


@pytest.mark.parametrize(
    ("fields", "rate"),
    [({}, 24_000), ({"sample_rate": 8000}, 8_000), ({"response_format": "ulaw"}, 8_000),
     ({"response_format": "opus", "sample_rate": 16000}, 16_000), ({"sample_rate": 11025}, None),
     ({"response_format": "opus", "sample_rate": 44100}, None), ({"sample_rate": 8000.0}, None),
     ({"response_format": "ulaw", "sample_rate": 24000}, None)],
)  # fmt: skip
def test_a_rate_is_one_of_the_format_s_or_an_error(fields: dict[str, Any], rate: int | None) -> None:
    content = json.dumps({"input": "Hi.", **fields}).encode()
    if rate is not None:
        assert read_request(content, VOICES).sample_rate == rate
        return
    with pytest.raises(RequestError, match="sample_rate") as refused:
        read_request(content, VOICES)
    assert refused.value.parameter == "sample_rate"


def test_telephony_is_answered(server: Running) -> None:
    with answered(server.port, input="Hi.", response_format="ulaw") as answer:
        data = answer.read()
        assert answer.headers["content-type"] == "audio/basic"
    (piece,) = FakeBundle().pieces("Hi.", "af_heart", 1.0)
    assert len(data) == pytest.approx(8_000 * piece.duration, abs=1)


def test_phonemes_are_returned_and_spoken(server: Running) -> None:
    with answered(server.port, "/dev/phonemize", text="one two", language="en-GB") as answer:
        found = json.loads(answer.read())
    assert found == {"phonemes": found["phonemes"], "tokens": []} and len(found["phonemes"].split()) == 2
    with answered(server.port, "/dev/generate_from_phonemes", voice="am_adam", **found) as answer:
        samples, rate = decoded(answer.read())
        assert answer.headers["content-type"] == "audio/wav" and rate == SAMPLE_RATE
    whole = Audio.join(FakeBundle().pieces(phonemes=found["phonemes"], voice="am_adam"))
    assert len(samples) == len(whole)
    for path, fields, field in (
        ("/dev/phonemize", {"text": "x", "language": "tlh"}, "lang_code"),
        ("/dev/phonemize", {"language": "en"}, "text"),
        ("/dev/generate_from_phonemes", {"input": "a"}, "phonemes"),
    ):
        with answered(server.port, path, **fields) as answer:
            assert (answer.status, json.loads(answer.read())["error"]["param"]) == (400, field)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/audio/voices/combine"),
        ("GET", "/v1/download/x.mp3"),
    ],
)
def test_what_is_not_there_says_what_to_do(server: Running, method: str, path: str) -> None:
    with answered(server.port, path, method) as answer:
        error = json.loads(answer.read())["error"]
    assert (answer.status, error["code"]) == (404, "not_supported") and ": " in error["message"]


def test_models_name_their_voices_also_for_open_webui(server: Running) -> None:
    for path in ("/v1/models", "/v1/audio/models"):
        with answered(server.port, path, "GET") as answer:
            found = json.loads(answer.read())
        assert found["models"] == found["data"] and found["data"][0]["voices"] == list(VOICES)


def test_tags_change_the_voice_and_the_rate() -> None:
    text = "[voice:Bob]One. [RATE: 2]Two. [voice:alloy] [rate:0.1] Three[pause:1s]. [voice:]"
    assert read_voice_tags(text, 1.5, {"Bob": Alias("am_adam+af_heart", 0.5)}, VOICES) == [
        Segment("One. ", "am_adam+af_heart", 0.75),
        Segment("Two. ", "am_adam+af_heart", 1.5),
        Segment(" Three[pause:1s]. [voice:]", "af_alloy", 0.25),
    ]
    for rate in ("0", "fast", "-1", "1e3"):
        with pytest.raises(RequestError, match="above 0"):
            read_voice_tags(f"Hi [rate:{rate}]", 1, {}, VOICES)


def test_tags_are_read_only_where_they_are_allowed(server: Running) -> None:
    text = "[voice:am_adam] Hi. [voice:nobody] Hello."
    for allowed, ssml, expected in ((False, False, 0), (True, False, 2), (True, True, 0)):
        fields = {"input": text, "allow_voice_tags": allowed, "ssml": ssml}
        assert len(read_request(json.dumps(fields).encode(), VOICES).segments) == expected
    aliases = {"nobody": {"voice": "af_heart", "rate": 2}}
    segments = [Segment(" Hi. ", "am_adam", 1.0), Segment(" Hello.", "af_heart", 2.0)]
    whole = Audio.join(FakeBundle().pieces(segments))
    fields = {"input": text, "allow_voice_tags": True, "response_format": "pcm"}
    with answered(server.port, voice_aliases=aliases, **fields) as answer:
        assert answer.read() == encode(whole.samples)
    with answered(server.port, **fields) as answer:
        assert (answer.status, json.loads(answer.read())["error"]["param"]) == (400, "voice")
    for wrong in (
        {"a": 1},
        {"a": {}},
        {"a": {"voice": "af_heart", "rate": "x"}},
        [],
        {str(n): "a" for n in range(101)},
    ):
        with pytest.raises(RequestError, match="voice_aliases") as refused:
            read_request(json.dumps({"input": "Hi.", "voice_aliases": wrong}).encode(), VOICES)
        assert refused.value.parameter == "voice_aliases"
