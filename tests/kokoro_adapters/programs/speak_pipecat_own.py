"""Speaks through pipecat's own service for kokoro-onnx: BUNDLE PLACE; a failed assertion ends it."""

import asyncio
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from pipecat.frames.frames import TTSAudioRawFrame, TTSSpeakFrame
from pipecat.tests.utils import run_test

from runtime_min import Bundle
from runtime_min.adapters import kokoro_onnx_class, save_voices

TEXT = "Good evening, Dr. Smith."


async def main(bundle: Bundle, place: Path) -> None:
    kokoro = kokoro_onnx_class(bundle)
    # kokoro-onnx's own module imports espeak-ng, which this environment does not have.
    sys.modules["kokoro_onnx"] = ModuleType("kokoro_onnx")
    sys.modules["kokoro_onnx"].Kokoro = kokoro  # type: ignore[attr-defined]
    from pipecat.services.kokoro.tts import KokoroTTSService

    save_voices(bundle, voices := place / "voices.npz")
    model = place / "model.onnx"
    model.touch()
    settings = KokoroTTSService.Settings(voice="af_heart")
    service = KokoroTTSService(
        model_path=str(model), voices_path=str(voices), settings=settings, sample_rate=24_000
    )
    down, _ = await run_test(service, frames_to_send=[TTSSpeakFrame(TEXT)], expected_down_frames=None)
    audio = b"".join(frame.audio for frame in down if isinstance(frame, TTSAudioRawFrame))
    samples, rate = kokoro("", str(voices)).create(TEXT, "af_heart", lang="en-us")
    assert rate == 24_000 and len(samples)
    assert audio == (samples * 32767).astype(np.int16).tobytes()


with Bundle.load(sys.argv[1]) as loaded:
    asyncio.run(main(loaded, Path(sys.argv[2])))
print("spoken")
