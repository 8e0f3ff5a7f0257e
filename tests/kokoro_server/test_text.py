"""English text as clients give it, spoken by a bundle with a fake model."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from wyoming.client import AsyncTcpClient
from wyoming.tts import Synthesize

from tests.kokoro_server.test_clients import CAPTIONS, SPEECH, answered, figure
from tests.support.fakes.speech_server import Running, serving
from tests.support.fakes.text_bundle import TextBundle, count_read

BOOK = "The cat sat on the mat, and was happy. " * 334
"""3,006 words."""
READ_FIRST = 5_000
"""Characters that may be read before the first audio."""


@pytest.fixture
def server(text_bundle: Path) -> Iterator[Running]:
    with serving(TextBundle(text_bundle)) as running:
        yield running


def test_an_answer_begins_before_its_text_is_read(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    read = count_read(monkeypatch)
    server.bundle.gate.clear()
    with answered(server.port, input=BOOK, response_format="pcm") as answer:
        assert len(answer.read(2_000)) == 2_000 and 0 < sum(read) < READ_FIRST
        server.bundle.gate.set()
        assert len(answer.read()) > 100_000
    assert sum(read) > 0.9 * len(BOOK)


def test_a_wyoming_client_hears_a_long_text_before_it_is_read(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first_audio() -> None:
        async with AsyncTcpClient("127.0.0.1", server.wyoming_port) as client:
            await client.write_event(Synthesize(BOOK).event())
            for kind in ("audio-start", "audio-chunk"):
                event = await asyncio.wait_for(client.read_event(), 10)
                assert event is not None and event.type == kind

    read = count_read(monkeypatch)
    server.bundle.gate.clear()
    asyncio.run(first_audio())
    assert 0 < sum(read) < READ_FIRST
    server.bundle.gate.set()


def test_what_cannot_be_spoken_is_part_of_the_answer(server: Running) -> None:
    fields = {"input": "Yes.\n\n세계\n\nIt is 계.", "response_format": "pcm"}
    unspoken = [{"word": "세계", "offset": 6}, {"word": "계", "offset": 16}]
    with answered(server.port, CAPTIONS, **fields) as answer:
        lines = [json.loads(line) for line in answer.read().splitlines()]
    assert [word for line in lines for word in line["unspoken"]] == unspoken
    with answered(server.port, CAPTIONS, **fields, stream=False) as answer:
        assert json.loads(answer.read())["unspoken"] == unspoken
    assert figure(server.port, "kokoro_unspoken_words_total") >= 4
    with answered(server.port, **fields, stream_format="sse") as answer:
        *_, done = [line for line in answer.read().decode().splitlines() if line]
    assert json.loads(done.removeprefix("data: "))["unspoken"] == unspoken


REFUSED = {"": "at least one phoneme", " \n": "at least one phoneme", "* * *": "'* * *'", "세계": "'세계'"}


@pytest.mark.parametrize("text", REFUSED)
def test_text_of_which_nothing_can_be_spoken_is_refused(server: Running, text: str) -> None:
    with answered(server.port, input=text) as answer:
        assert answer.status == 400 and REFUSED[text] in json.loads(answer.read())["error"]["message"]


def test_emoji_are_named_or_skipped(server: Running) -> None:
    for skip, words in ((False, ["😀", "Hi", "."]), (True, ["Hi", "."])):
        with answered(server.port, CAPTIONS, input="😀 Hi.", skip_emoji=skip, stream=False) as answer:
            assert [word["word"] for word in json.loads(answer.read())["timestamps"]] == words


def test_the_speed_is_left_to_the_model_where_nothing_may_be_stretched(server: Running) -> None:
    lengths = []
    for stretch in (True, False):
        fields = {"input": "Hi there.", "speed": 4.0, "response_format": "pcm", "stretch": stretch}
        with answered(server.port, **fields) as answer:
            lengths.append(len(answer.read()))
    assert lengths[0] != lengths[1]


def test_ssml_is_spoken_and_refused_with_its_cause(server: Running) -> None:
    document = "<speak>Wait.<break time='1s'/>Go!</speak>"
    with answered(server.port, CAPTIONS, input=document, ssml=True, response_format="pcm") as answer:
        lines = [json.loads(line) for line in answer.read().splitlines()]
    words = [word["word"] for line in lines for word in line["timestamps"]]
    assert words == ["Wait", ".", "Go", "!"]
    assert sum(len(base64.b64decode(line["audio"])) for line in lines) > 2 * 24_000
    for wrong in (
        "Wait.",
        "<speak><b>Go!</b></speak>",
        "<speak>",
        "<speak><voice name='x'>Go!</voice></speak>",
    ):
        with answered(server.port, input=wrong, ssml=True) as answer:
            assert answer.status == 400


SURROGATE = "\ud800"


@pytest.mark.parametrize(
    ("fields", "statuses"),
    [
        ({"input": f"Hi {SURROGATE} there."}, (200,)),
        ({"input": f"Hi{SURROGATE}there."}, (200,)),
        ({"input": SURROGATE}, (400,)),
        ({"input": f"[Hi{SURROGATE}](/h\u02c8I/) and [Hi](/{SURROGATE}/)."}, (200, 400)),
        ({"input": f"<speak>Hi{SURROGATE}.</speak>", "ssml": True}, (200, 400)),
        ({"input": f"<speak><sub alias='{SURROGATE}'>Hi</sub>.</speak>", "ssml": True}, (200, 400)),
        ({"input": f"<{SURROGATE}>", "ssml": True}, (400,)),
        ({"input": f"Hola {SURROGATE} mundo.", "lang_code": "es"}, (200,)),
        ({"input": f"Bonjour {SURROGATE} monde.", "lang_code": "fr"}, (200, 400, 422)),
        ({"input": f"Bonjour{SURROGATE}monde.", "lang_code": "fr"}, (200, 400, 422)),
        ({"input": "Hi.", "lang_code": SURROGATE}, (400, 422)),
        ({"input": "Hi.", "lang_code": f"en-{SURROGATE}"}, (200, 400, 422)),
        ({"input": "Hi.", "voice": SURROGATE}, (400,)),
        ({"input": "Hi.", "voice": f"af_heart*{SURROGATE}+am_adam"}, (400,)),
        ({"input": "Hi.", "response_format": SURROGATE}, (400,)),
        ({"input": "Hi.", "stream_format": SURROGATE}, (400,)),
        ({"input": "Hi.", "model": SURROGATE}, (404,)),
        ({"input": "Hi.", "speed": SURROGATE}, (400,)),
        ({"input": "Hi.", SURROGATE: SURROGATE}, (200,)),
    ],
    ids=ascii,
)
def test_half_of_a_surrogate_pair_fails_nowhere(
    server: Running, fields: dict[str, object], statuses: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    for path, more in (
        (SPEECH, {}),
        (SPEECH, {"stream_format": "sse"}),
        (CAPTIONS, {}),
        (CAPTIONS, {"stream": False}),
    ):
        with answered(server.port, path, **{"response_format": "pcm", **more, **fields}) as answer:
            content = answer.read()
            assert answer.status in statuses, content
        kind = answer.getheader("content-type")
        lines = content.replace(b"data: ", b"").splitlines() if "json" in kind or "event" in kind else []
        for line in filter(None, lines):
            assert "error" not in json.loads(line) or answer.status != 200
    assert not [record for record in caplog.records if record.exc_info]


def test_a_word_comes_back_as_it_was_sent(server: Running) -> None:
    with answered(server.port, CAPTIONS, input=f"Hi {SURROGATE} there.", stream=False) as answer:
        assert json.loads(answer.read())["unspoken"] == [{"word": SURROGATE, "offset": 3}]
