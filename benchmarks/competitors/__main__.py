"""Speaks once into a WAV file, with nothing but the engine, numpy and the standard library."""

from __future__ import annotations

import json
import sys
import wave

from benchmarks.competitors import Competitor


def main(description: str, phonemes: str, path: str) -> None:
    """Writes a 16-bit WAV file."""
    competitor = Competitor(**json.loads(description))
    ((samples, _),) = competitor.load()(phonemes)
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(competitor.sample_rate)
        file.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
