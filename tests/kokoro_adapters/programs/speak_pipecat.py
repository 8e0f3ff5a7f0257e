"""Speaks through a pipeline of pipecat: BUNDLE; a failed assertion ends it."""

import asyncio
import sys
from typing import Any

from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    TTSStoppedFrame,
    TTSTextFrame,
)
from pipecat.services.tts_service import TextAggregationMode
from pipecat.tests.utils import SleepFrame, run_test

from kokoro_adapters.pipecat import KokoroBundleTTS
from runtime_min import Bundle

SENTENCES = ("Good evening, Dr. Smith.", "It is late, and the train has gone.")
TOKENS = [f"{token} " for token in " ".join(SENTENCES).split(" ")]
ANSWER = [LLMFullResponseStartFrame(), *map(LLMTextFrame, TOKENS), LLMFullResponseEndFrame()]
AS_TOKENS = {"text_aggregation_mode": TextAggregationMode.TOKEN}


async def frames(bundle: Bundle, sent: list[Frame], **options: Any) -> list[Frame]:
    tts = KokoroBundleTTS(bundle, options={"seed": 3}, sample_rate=24_000, **options)
    down, up = await run_test(tts, frames_to_send=sent, expected_down_frames=None)
    return [*down, *(frame for frame in up if isinstance(frame, ErrorFrame))]


async def spoken(bundle: Bundle, sent: list[Frame], **options: Any) -> tuple[bytes, list[str]]:
    down = await frames(bundle, sent, **options)
    audio = b"".join(frame.audio for frame in down if isinstance(frame, TTSAudioRawFrame))
    return audio, [frame.text for frame in down if isinstance(frame, TTSTextFrame)]


async def sentences(bundle: Bundle) -> None:
    expected = b"".join(
        piece.pcm16() for text in SENTENCES for piece in bundle.stream(text, "af_heart", seed=3)
    )
    audio, words = await spoken(bundle, ANSWER)
    assert audio == expected, (len(audio), len(expected))
    assert_words(words)
    audio, words = await spoken(bundle, [TTSSpeakFrame("* * *"), TTSSpeakFrame(SENTENCES[0])])
    assert audio == b"".join(piece.pcm16() for piece in bundle.stream(SENTENCES[0], "af_heart", seed=3))


async def tokens(bundle: Bundle) -> None:
    """An answer is one speech, also after another one and after an interruption in the middle."""
    expected = b"".join(piece.pcm16() for piece in bundle.stream(iter(TOKENS), "af_heart", seed=3))
    audio, words = await spoken(bundle, ANSWER, **AS_TOKENS)
    assert audio == expected, (len(audio), len(expected))
    assert_words(words)
    # The first clause is heard although the answer never ends, and the next answer is whole.
    down = await frames(bundle, [*ANSWER[:6], SleepFrame(2), InterruptionFrame(), *ANSWER], **AS_TOKENS)
    (cut,) = [place for place, frame in enumerate(down) if isinstance(frame, InterruptionFrame)]
    first, second = (
        b"".join(frame.audio for frame in part if isinstance(frame, TTSAudioRawFrame))
        for part in (down[:cut], down[cut:])
    )
    assert 0 < len(first) < len(expected) and expected.startswith(first)
    assert second == expected
    # What cannot be spoken is an error of its own, and what follows is spoken.
    refused = [LLMFullResponseStartFrame(), LLMTextFrame("[Hm](/ж/)."), LLMFullResponseEndFrame()]
    down = await frames(bundle, [*refused, *ANSWER], **AS_TOKENS)
    assert b"".join(frame.audio for frame in down if isinstance(frame, TTSAudioRawFrame)) == expected
    assert len([frame for frame in down if isinstance(frame, TTSStoppedFrame)]) == 2
    assert any("lacks these phonemes" in frame.error for frame in down if isinstance(frame, ErrorFrame))


def assert_words(words: list[str]) -> None:
    assert [word.strip() for word in words] == [token.strip() for token in TOKENS], words


async def main(bundle: Bundle) -> None:
    await sentences(bundle)
    await tokens(bundle)


with Bundle.load(sys.argv[1]) as loaded:
    asyncio.run(main(loaded))
print("spoken")
