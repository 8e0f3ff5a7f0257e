"""Speaks through livekit-agents: BUNDLE; a failed assertion ends it."""

import asyncio
import sys

import numpy as np
from livekit.agents import APIError
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT

from kokoro_adapters.livekit import KokoroTTS
from runtime_min import Audio, Bundle

TEXT = "Good evening, Dr. Smith. It is late, and the train has gone. Goodbye!"


async def speak(tts: KokoroTTS, pushed: list[str]) -> tuple[np.ndarray, list]:
    samples, words = [], []
    async with tts.stream() as stream:
        for part in pushed:
            stream.push_text(part)
            await asyncio.sleep(0)
        stream.end_input()
        async for event in stream:
            samples.append(np.asarray(event.frame.data))
            words += event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, [])
    return np.concatenate(samples), words


async def main(bundle: Bundle) -> None:
    tts = KokoroTTS(bundle, "af_heart", seed=3)
    assert tts.capabilities.streaming and tts.capabilities.aligned_transcript
    live = bundle.live("af_heart", seed=3)
    live.push(TEXT)
    live.end()
    expected = Audio.join(live.pieces())
    for pushed in ([TEXT], list(TEXT), TEXT.split(" ")):
        pushed = [part + " " for part in pushed[:-1]] + pushed[-1:] if " " not in pushed else pushed
        samples, words = await speak(tts, pushed)
        assert samples.tobytes() == expected.pcm16()
        assert "".join(words) == TEXT, words
        assert [word.start_time for word in words] == [word.start for word in expected.words]
    whole = await tts.synthesize(TEXT).collect()
    # livekit ends a whole text with 10 ms of silence.
    assert np.asarray(whole.data).tobytes() == expected.pcm16() + bytes(480)
    # Interrupted: nothing is left that speaks.
    stream = tts.stream()
    stream.push_text(TEXT * 50)
    await stream.__anext__()
    await stream.aclose()
    try:
        await tts.synthesize("* * *").collect()
    except APIError as error:
        assert not error.retryable
    else:
        raise AssertionError("stars were spoken")


with Bundle.load(sys.argv[1]) as loaded:
    asyncio.run(main(loaded))
print("spoken")
