"""Speaks through a pipeline of pipecat: BUNDLE; a failed assertion ends it."""

import asyncio
import sys

from pipecat.frames.frames import (
    Frame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    TTSTextFrame,
)
from pipecat.tests.utils import run_test

from kokoro_adapters.pipecat import KokoroBundleTTS
from runtime_min import Bundle

SENTENCES = ("Good evening, Dr. Smith.", "It is late, and the train has gone.")


async def spoken(bundle: Bundle, frames: list[Frame]) -> tuple[bytes, list[str]]:
    tts = KokoroBundleTTS(bundle, options={"seed": 3}, sample_rate=24_000)
    down, _ = await run_test(tts, frames_to_send=frames, expected_down_frames=None)
    audio = b"".join(frame.audio for frame in down if isinstance(frame, TTSAudioRawFrame))
    return audio, [frame.text for frame in down if isinstance(frame, TTSTextFrame)]


async def main(bundle: Bundle) -> None:
    expected = b"".join(
        piece.pcm16() for text in SENTENCES for piece in bundle.stream(text, "af_heart", seed=3)
    )
    tokens = " ".join(SENTENCES).split(" ")
    answer = [
        LLMFullResponseStartFrame(),
        *(LLMTextFrame(f"{token} ") for token in tokens),
        LLMFullResponseEndFrame(),
    ]
    audio, words = await spoken(bundle, answer)
    assert audio == expected, (len(audio), len(expected))
    assert [word.strip(".,") for word in words if word.strip(".,")] == [t.strip(".,") for t in tokens], words
    audio, words = await spoken(bundle, [TTSSpeakFrame("* * *"), TTSSpeakFrame(SENTENCES[0])])
    assert audio == b"".join(piece.pcm16() for piece in bundle.stream(SENTENCES[0], "af_heart", seed=3))


with Bundle.load(sys.argv[1]) as loaded:
    asyncio.run(main(loaded))
print("spoken")
