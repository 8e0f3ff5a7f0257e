"""Paths of the project and of the recordings of the real model, which not every machine has."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
KOKORO = SHARED / "kokoro"
REAL_VOICES = KOKORO / "voices"
