"""Names of voices as clients write them: OpenAI's names, and both spellings of blends.

>>> known_voice("alloy(2)+am_adam", ["af_alloy", "am_adam"])
'af_alloy*2+am_adam'
"""

from __future__ import annotations

import re
from collections.abc import Collection

from runtime_min import VoiceName
from runtime_min.text import language_code

from .errors import RequestError

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


def default_voice(voices: Collection[str]) -> str:
    """Returns the voice of requests that name neither a voice nor a language."""
    return "af_heart" if "af_heart" in voices else next(iter(voices), "af_heart")


def voice_language(name: str) -> str:
    """Returns the language of a voice's text, as a tag of BCP 47; English if its name shows none."""
    return VoiceName(name).language or "en-US"


def nearest_voice(language: str, voices: Collection[str], field: str) -> str:
    """Returns the first of the voices that are nearest to a language.

    Args:
        language: a tag of BCP 47, also with underscores.
        voices: the bundle's.
        field: name of the request's field, for the error.

    Raises:
        RequestError: no voice speaks the language.
    """
    asked = language_code(language)
    codes = {name: language_code(voice_language(name)) for name in voices}
    for name, code in codes.items():
        if code == asked:
            return name
    for name, code in codes.items():
        # The other English.
        if code.split("-")[0] == asked.split("-")[0]:
            return name
    known = ", ".join(dict.fromkeys(map(voice_language, voices)))
    raise RequestError(400, f"No voice speaks {language[:80]!r}: expected one of {known}.", field)
