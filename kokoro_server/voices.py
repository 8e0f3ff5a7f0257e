"""Names of voices as clients write them: OpenAI's names, and both spellings of blends.

>>> known_voice("alloy(2)+am_adam", ["af_alloy", "am_adam"])
'af_alloy*2+am_adam'
"""

from __future__ import annotations

import re
from collections.abc import Collection

OPENAI_VOICES = {
    "alloy": "af_alloy",
    "ash": "am_michael",
    "ballad": "bm_lewis",
    "cedar": "am_fenrir",
    "coral": "af_sarah",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_kore",
    "shimmer": "af_bella",
    "verse": "am_puck",
}
"""Kokoro's voice by OpenAI's."""
_WEIGHT = re.compile(r"\s*\(([^()]*)\)")
_NAME = re.compile(r"(?:^|(?<=[+,]))\s*(\w+)")


def known_voice(voice: str, known: Collection[str]) -> str:
    """Returns a voice or a blend in the runtime's spelling, with Kokoro's names in place of OpenAI's.

    Args:
        voice: a name, or a blend such as ``a*0.7+b*0.3``, ``a,b`` or Kokoro-FastAPI's ``a(2)+b(1)``.
        known: the bundle's voices, which keep their names.
    """
    names = {name: kokoro for name, kokoro in OPENAI_VOICES.items() if name not in known}
    return _NAME.sub(lambda found: names.get(found[1], found[1]), _WEIGHT.sub(r"*\1", voice))
