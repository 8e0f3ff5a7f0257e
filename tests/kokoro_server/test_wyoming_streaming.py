"""Wyoming's streaming: text in chunks, as Home Assistant sends a language model's answer."""

from __future__ import annotations

import asyncio

import pytest
from wyoming.audio import AudioChunk
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeVoice,
)

from tests.support.fakes.speech_server import Running

TEXT = "abc, abc abc def. Def abc gab. Hah."


async def read_until(client: AsyncTcpClient, last: str) -> list[Event]:
    found: list[Event] = []
    while not found or found[-1].type != last:
        event = await asyncio.wait_for(client.read_event(), 20)
        assert event is not None
        found.append(event)
    return found


def said(events: list[Event]) -> bytes:
    return b"".join(AudioChunk.from_event(event).audio for event in events if AudioChunk.is_type(event.type))


def streamed(port: int, chunks: list[str], *, whole: str | None = None) -> list[Event]:
    async def main() -> list[Event]:
        async with AsyncTcpClient("127.0.0.1", port) as client:
            await client.write_event(SynthesizeStart(SynthesizeVoice(name="am_adam")).event())
            for chunk in chunks:
                await client.write_event(SynthesizeChunk(chunk).event())
            if whole is not None:
                await client.write_event(Synthesize(whole).event())
            await client.write_event(SynthesizeStop().event())
            return await read_until(client, "synthesize-stopped")

    return asyncio.run(main())


def test_the_program_says_that_it_streams(server: Running) -> None:
    async def main() -> list[Event]:
        async with AsyncTcpClient("127.0.0.1", server.wyoming_port) as client:
            await client.write_event(Describe().event())
            return await read_until(client, "info")

    (program,) = Info.from_event(asyncio.run(main())[0]).tts
    assert program.supports_synthesize_streaming


def test_chunks_become_one_speech_wherever_the_text_is_cut(server: Running) -> None:
    events = streamed(server.wyoming_port, list(TEXT), whole=TEXT)
    assert [each.type for each in events if each.type != "audio-chunk"] == [
        "audio-start",
        "audio-stop",
        "synthesize-stopped",
    ]
    assert len(said(events)) > 24_000 and said(events) == said(streamed(server.wyoming_port, [TEXT]))


def test_a_sentence_is_spoken_while_the_text_still_comes(server: Running) -> None:
    async def main() -> None:
        async with AsyncTcpClient("127.0.0.1", server.wyoming_port) as client:
            await client.write_event(SynthesizeStart().event())
            await client.write_event(SynthesizeChunk("abc abc. Def abc ").event())
            assert said(await read_until(client, "audio-chunk"))
            await client.write_event(SynthesizeStop().event())
            await read_until(client, "synthesize-stopped")
            # The connection goes on as before.
            await client.write_event(Synthesize("abc.").event())
            assert said(await read_until(client, "audio-stop"))

    asyncio.run(main())


@pytest.mark.parametrize(
    ("start", "chunk", "error"),
    [
        (SynthesizeStart(SynthesizeVoice(name="nobody")).event(), "abc.", "nobody"),
        (Event("synthesize-start", {"voice": 7}), "abc.", "voice"),
        (SynthesizeStart().event(), 7, "text"),
    ],
)
def test_what_is_wrong_is_told_once_and_the_connection_goes_on(
    server: Running, start: Event, chunk: object, error: str
) -> None:
    async def main() -> None:
        async with AsyncTcpClient("127.0.0.1", server.wyoming_port) as client:
            await client.write_event(start)
            for _ in range(3):
                await client.write_event(Event("synthesize-chunk", {"text": chunk}))
            await client.write_event(SynthesizeStop().event())
            (refused,) = await read_until(client, "error")
            assert error in Error.from_event(refused).text
            await client.write_event(Synthesize("abc.").event())
            assert said(await read_until(client, "audio-stop"))

    asyncio.run(main())
