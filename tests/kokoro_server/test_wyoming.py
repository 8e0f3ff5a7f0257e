"""Home Assistant's protocol, spoken by its own client."""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize, SynthesizeVoice

from kokoro_server import __main__
from kokoro_server.app import Options
from kokoro_server.errors import RequestError
from kokoro_server.wyoming import chosen_voice, described, read_request
from runtime_min import Audio, VoiceName, encode
from tests.support.fakes.speech_server import VOICES, FakeBundle, Running, serving

TEXT = "One sentence, and another one. " * 4


async def events(port: int, *asked: Event, last: str) -> list[Event]:
    async with AsyncTcpClient("127.0.0.1", port) as client:
        for event in asked:
            await client.write_event(event)
        found: list[Event] = []
        while not found or found[-1].type != last:
            event_read = await asyncio.wait_for(client.read_event(), 10)
            assert event_read is not None
            found.append(event_read)
        return found


def test_the_voices_are_described(server: Running) -> None:
    (event,) = asyncio.run(events(server.wyoming_port, Describe().event(), last="info"))
    (program,) = Info.from_event(event).tts
    assert [voice.name for voice in program.voices] == list(VOICES)
    assert program.voices[3].languages == ["es"] and program.installed
    assert [voice.installed for voice in program.voices] == [voice != "ef_dora" for voice in VOICES]


def test_text_becomes_audio(server: Running) -> None:
    asked = Synthesize(TEXT, SynthesizeVoice(name="am_adam")).event()
    start, *chunks, stop = asyncio.run(events(server.wyoming_port, asked, last="audio-stop"))
    assert AudioStart.from_event(start).rate == 24_000 and AudioStop.is_type(stop.type)
    sound = [AudioChunk.from_event(chunk) for chunk in chunks]
    assert {(chunk.rate, chunk.width, chunk.channels) for chunk in sound} == {(24_000, 2, 1)}
    whole = Audio.join(FakeBundle().pieces(TEXT, "am_adam", 1.0))
    assert b"".join(chunk.audio for chunk in sound) == encode(whole.samples, "pcm16")


def test_an_error_is_an_event_and_the_connection_goes_on(server: Running) -> None:
    asked = (Synthesize("Hi.", SynthesizeVoice(name="nobody")).event(), Synthesize("Hi.").event())
    error, *rest = asyncio.run(events(server.wyoming_port, *asked, last="audio-stop"))
    assert "no voice 'nobody'" in Error.from_event(error).text and len(rest) > 2


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, "af_heart"),
        (SynthesizeVoice(name="alloy"), "af_alloy"),
        (SynthesizeVoice(language="es"), "ef_dora"),
        (SynthesizeVoice(language="es-ES"), "ef_dora"),
        (SynthesizeVoice(language="es_MX"), "ef_dora"),
        (SynthesizeVoice(language="ES-419"), "ef_dora"),
        (SynthesizeVoice(language="en"), "af_heart"),
        (SynthesizeVoice(language="en_US"), "af_heart"),
        (SynthesizeVoice(language="en-GB"), "bf_emma"),
        (SynthesizeVoice(language="en-GB-oxendict"), "bf_emma"),
        (SynthesizeVoice(language="en-AU"), "bf_emma"),
        (SynthesizeVoice(name="bf_emma", language="es"), "bf_emma"),
    ],
    ids=str,
)
def test_a_language_stands_for_its_nearest_voice(asked: SynthesizeVoice | None, expected: str) -> None:
    voices = tuple(map(VoiceName, (*VOICES, "bf_emma")))
    assert chosen_voice(asked, voices) == expected


def test_a_language_beside_a_name_is_that_of_the_text() -> None:
    voices = tuple(map(VoiceName, VOICES))
    for voice, language in (
        ({"name": "af_heart", "language": "es-ES"}, "es-ES"),
        ({"language": "es-ES"}, None),
    ):
        assert read_request({"text": "Hola", "voice": voice}, voices).language == language


@pytest.mark.parametrize("language", ["pt", "pt-BR", "esperanto", "US", "-es", ""])
def test_a_language_without_a_voice_is_refused(language: str) -> None:
    with pytest.raises(RequestError, match="expected one of en-US, es"):
        chosen_voice(SynthesizeVoice(language=language), FakeBundle().voices)


class Voices(NamedTuple):
    voices: tuple[VoiceName, ...]

    def speaks(self, language: str) -> bool:
        return True


def test_every_voice_that_is_described_is_found_by_its_language() -> None:
    voices = tuple(map(VoiceName, ("mine", "bf_emma", "zf_xiaobei", "pf_dora")))
    for voice in described(Voices(voices)).tts[0].voices:
        (language,) = voice.languages
        assert chosen_voice(SynthesizeVoice(language=language), voices) == voice.name


def test_a_client_that_leaves_or_does_not_read_stops_its_speech() -> None:
    async def silent(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
        content = json.dumps({"text": TEXT * 500}).encode()
        writer.write(b'{"type": "synthesize", "data_length": %d}\n%s' % (len(content), content))
        await asyncio.sleep(1.5)
        writer.transport.abort()

    with serving(FakeBundle(), Options(send_seconds=0.3)) as running:
        asyncio.run(silent(running.wyoming_port))
        computed = len(running.bundle.computed)
        test_the_voices_are_described(running)
        assert 0 < computed < 300


@pytest.mark.parametrize("port", ["10200", "0"])
def test_a_key_is_not_given_away_by_wyoming(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[Options] = []
    monkeypatch.setattr(__main__, "serve", lambda load, options, settings: served.append(options))
    monkeypatch.setenv("KOKORO_API_KEY", "secret")
    wyoming = ["bundle", "--wyoming-port", port]
    with pytest.raises(SystemExit, match="2"):
        __main__.main(wyoming)
    assert "Wyoming has no key" in capsys.readouterr().err
    for network in ("192.168.1.1/24", "home", "10.0.0.0/33", ""):
        with pytest.raises(SystemExit, match="2"):
            __main__.main([*wyoming, "--wyoming-allow", network])
        assert "expected an address or a network" in capsys.readouterr().err
    assert __main__.main([*wyoming, "--wyoming-allow", "192.168.1.0/24", "--wyoming-allow", "::1"]) == 0
    assert __main__.main(["bundle"]) == 0
    monkeypatch.delenv("KOKORO_API_KEY")
    assert __main__.main(wyoming) == 0
    networks = [[str(network) for network in options.wyoming_peers] for options in served]
    assert networks == [["192.168.1.0/24", "::1/128"], [], []]
