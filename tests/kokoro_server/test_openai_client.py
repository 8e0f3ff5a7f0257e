"""OpenAI's own client speaks to the server."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Iterator

import av
import numpy as np
import openai
import pytest
import soundfile
from openai import AsyncOpenAI, OpenAI

from kokoro_server.app import Options
from kokoro_server.encoders import FORMATS
from kokoro_server.requests import MODELS
from runtime_min import Audio, encode
from tests.support.fakes.speech_server import FakeBundle, Running, fake_g2p, serving

TEXT = "One sentence, and another one. " * 6


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none") as opened:
        yield opened


def expected(text: str = TEXT, voice: str = "af_alloy", speed: float = 1.0) -> np.ndarray:
    return Audio.join(FakeBundle().pieces(text, voice, speed)).samples


def decoded(content: bytes) -> np.ndarray:
    """Returns the audio at 24 kHz."""
    with av.open(io.BytesIO(content)) as container:
        (stream,) = container.streams.audio
        assert stream.channels == 1
        resampler = av.AudioResampler("flt", "mono", 24_000)
        frames = [each for frame in container.decode(stream) for each in resampler.resample(frame)]
        return np.concatenate([frame.to_ndarray()[0] for frame in (*frames, *resampler.resample(None))])


def spectrum_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Returns how far two sounds are apart, from 0 to 1, whatever the encoder's delay."""
    length = max(len(one), len(other))
    first, second = (np.abs(np.fft.rfft(sound, length)) for sound in (one, other))
    return 1 - float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_mp3_is_what_the_client_gets_if_it_asks_for_nothing_else(client: OpenAI) -> None:
    answer = client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)
    assert answer.response.headers["content-type"] == "audio/mpeg"
    with av.open(io.BytesIO(answer.content)) as container:
        assert container.format.name == "mp3"


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("pcm", "ulaw")])
def test_every_format_can_be_decoded_again(client: OpenAI, name: str) -> None:
    answer = client.audio.speech.create(model="tts-1", voice="alloy", input=TEXT, response_format=name)  # type: ignore[arg-type]
    assert answer.response.headers["content-type"] == FORMATS[name].media_type
    sound, wanted = decoded(answer.content), expected()
    # Encoders add up to two frames.
    assert 0 <= len(sound) - len(wanted) <= 3_000
    assert spectrum_distance(sound, wanted) < (1e-6 if name in ("wav", "flac") else 0.02)
    if name in ("wav", "opus", "mp3"):
        assert soundfile.read(io.BytesIO(answer.content))[1] in (24_000, 48_000)


def test_pcm_is_the_samples_and_nothing_else(client: OpenAI) -> None:
    answer = client.audio.speech.create(
        model="kokoro", voice="af_alloy", input=TEXT, response_format="pcm", speed=1.5
    )
    assert answer.content == encode(expected(speed=1.5), "pcm16")


def test_equal_requests_have_equal_answers(client: OpenAI) -> None:
    for name in FORMATS:
        answers = [
            client.audio.speech.create(model="tts-1", voice="alloy", input="Hi.", response_format=name)  # type: ignore[arg-type]
            for _ in range(2)
        ]
        assert answers[0].content == answers[1].content


def test_a_streamed_answer_comes_piece_by_piece() -> None:
    with serving(FakeBundle(seconds=0.1)) as running:
        client = OpenAI(base_url=f"{running.url}/v1", api_key="none")
        with client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="alloy", input=TEXT, response_format="pcm"
        ) as answer:
            parts = answer.iter_bytes()
            content = next(parts)
            computed = len(running.bundle.computed)
            content += b"".join(parts)
        assert content == encode(expected(), "pcm16")
        assert computed < len(running.bundle.computed)


def test_events_hold_the_audio_and_end_with_the_usage(client: OpenAI) -> None:
    with client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts", voice="alloy", input=TEXT, response_format="pcm", stream_format="sse",
        instructions="Speak like a pirate.",
    ) as answer:  # fmt: skip
        assert answer.headers["content-type"] == "text/event-stream"
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    *deltas, done = (json.loads(line.removeprefix("data: ")) for line in lines)
    assert {event["type"] for event in deltas} == {"speech.audio.delta"} and len(deltas) > 1
    audio = b"".join(base64.b64decode(event["audio"]) for event in deltas)
    assert audio == encode(expected(), "pcm16")
    phonemes = sum(len(word.phonemes) + 1 for word in fake_g2p(TEXT)) - 1
    frames = round(len(audio) / 1_200)
    assert done == {
        "type": "speech.audio.done",
        "usage": {"input_tokens": phonemes, "output_tokens": frames, "total_tokens": phonemes + frames},
        "unspoken": [],
    }


def test_a_blend_of_fastapi_is_the_same_as_ours(client: OpenAI) -> None:
    blends = ("alloy(2)+am_adam(1)", "af_alloy*2+am_adam*1", "af_alloy(0.5) + am_adam(.25)")
    answers = {
        client.audio.speech.create(model="tts-1", voice=blend, input="Hi.", response_format="pcm").content
        for blend in blends
    }
    assert len(answers) == 1


def test_models_are_listed_and_described(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(MODELS)
    assert client.models.retrieve("tts-1").id == "tts-1"
    with pytest.raises(openai.NotFoundError, match="expected one of kokoro"):
        client.models.retrieve("whisper-1")


@pytest.mark.parametrize(
    ("changes", "error", "parameter", "message"),
    [
        ({"voice": "af_nobody"}, openai.BadRequestError, "voice", "no voice 'af_nobody'"),
        ({"voice": "af_alloy(x)"}, openai.BadRequestError, "voice", "'x' is not a number"),
        ({"voice": 5}, openai.BadRequestError, "voice", "wrong type: 5"),
        ({"voice": "a" * 2_000}, openai.BadRequestError, "voice", "at most 1000"),
        ({"speed": 9}, openai.BadRequestError, "speed", "from 0.25 to 4, found 9"),
        ({"speed": "fast"}, openai.BadRequestError, "speed", "wrong type"),
        ({"response_format": "ogg"}, openai.BadRequestError, "response_format", "one of mp3, opus"),
        ({"stream_format": "ws"}, openai.BadRequestError, "stream_format", "one of audio, sse"),
        ({"input": ""}, openai.BadRequestError, "input", "at least one phoneme"),
        ({"input": None}, openai.BadRequestError, "input", "is missing"),
        ({"model": "whisper-1"}, openai.NotFoundError, "model", "'whisper-1'"),
        ({"voice": None, "extra_body": {"lang_code": "pt"}}, openai.BadRequestError, "lang_code", "No voice"),
        ({"extra_body": {"return_download_link": True}}, openai.BadRequestError, "return_download_link", ""),
        ({"extra_body": {"volume_multiplier": -1}}, openai.BadRequestError, "volume_multiplier", "from 0"),
        ({"input": "x" * 300_000}, openai.APIStatusError, "input", "at most 131072 bytes"),
    ],
    ids=str,
)  # fmt: skip
def test_errors_are_those_of_the_client(
    client: OpenAI, changes: dict[str, object], error: type[openai.APIStatusError], parameter: str | None,
    message: str,
) -> None:  # fmt: skip
    request = {"model": "tts-1", "voice": "alloy", "input": "Hi.", **changes}
    with pytest.raises(error, match=message) as caught:
        client.audio.speech.create(**request)  # type: ignore[arg-type]
    assert (caught.value.param, caught.value.type) == (parameter, "invalid_request_error")
    assert client.max_retries == 2


def test_the_key_is_wanted_everywhere_but_for_the_health() -> None:
    with serving(FakeBundle(), Options(api_key="secret")) as running:
        assert OpenAI(base_url=f"{running.url}/v1", api_key="secret").models.list().data
        wrong = OpenAI(base_url=f"{running.url}/v1", api_key="secret2")
        with pytest.raises(openai.AuthenticationError, match="missing or wrong"):
            wrong.models.list()
        health = wrong.get(f"{running.url}/health", cast_to=dict)
        assert health == {"status": "healthy"}


def test_a_client_that_was_refused_comes_back_by_itself() -> None:
    async def all_of(running: Running) -> list[int]:
        async with AsyncOpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=5) as client:

            async def one(number: int) -> int:
                answer = await client.audio.speech.create(model="tts-1", voice="alloy", input=f"Hi {number}.")
                return len(answer.content)

            running.bundle.gate.clear()
            answers = [asyncio.create_task(one(number)) for number in range(3)]
            while 'status="503"' not in await client.get(f"{running.url}/metrics", cast_to=str):
                await asyncio.sleep(0.01)
            running.bundle.gate.set()
            return await asyncio.gather(*answers)

    with serving(FakeBundle(), Options(slots=1, longest_queue=1)) as running:
        assert all(asyncio.run(all_of(running)))
