"""Paths of the project and of the recordings of the real model, which not every machine has."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
KOKORO = SHARED / "kokoro"
REAL_VOICES = KOKORO / "voices"
PROVING = "KOKORO_EXPORT_PROOF" in os.environ
"""True in `make prove`, which keeps nothing from earlier runs and compiles more."""
