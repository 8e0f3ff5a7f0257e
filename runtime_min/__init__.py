"""Speaks from a bundle that `kokoro-export` wrote, with numpy and the TVM runtime alone.

    from runtime_min import Bundle
    audio = Bundle.load("bundles/kokoro").synthesize("Hello, world!")

The public API is what this module exports, and the modules `runtime_min.text` (text to phonemes),
`runtime_min.adapters` (for apps written for kokoro or kokoro-onnx) and `runtime_min.errors`. All else is
internal and may change. Each folder imports from those before it: `format` reads and verifies a bundle,
`engine` runs its stages, `model` computes an utterance, `output` writes files, `speech` speaks input of any
length.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bundle import Bundle
    from .errors import BundleError, InputError, KokoroError, MachineError, OutputError
    from .live import LiveSpeech
    from .model.voices import VoiceName
    from .output.audio_file import audio_file, write_wav
    from .output.wav import encode, wav_header
    from .speech.request import SpeechOptions
    from .speech.stream import Stream
    from .speech.subtitles import Cue, cues, write_timings
    from .speech.timing import Audio, Timing
    from .speech.words import FLUSH, Segment, Unspoken, Word

__version__ = "0.1.0"
"""The version of this package, of the exporter and of the server: they are released together."""

__all__ = [
    "FLUSH",
    "Audio",
    "Bundle",
    "BundleError",
    "Cue",
    "InputError",
    "KokoroError",
    "LiveSpeech",
    "MachineError",
    "OutputError",
    "Segment",
    "SpeechOptions",
    "Stream",
    "Timing",
    "Unspoken",
    "VoiceName",
    "Word",
    "audio_file",
    "cues",
    "encode",
    "wav_header",
    "write_timings",
    "write_wav",
]
_HOMES = {
    "bundle": ("Bundle",),
    "errors": ("BundleError", "InputError", "KokoroError", "MachineError", "OutputError"),
    "live": ("LiveSpeech",),
    "model.voices": ("VoiceName",),
    "output.audio_file": ("audio_file", "write_wav"),
    "output.wav": ("encode", "wav_header"),
    "speech.request": ("SpeechOptions",),
    "speech.stream": ("Stream",),
    "speech.subtitles": ("Cue", "cues", "write_timings"),
    "speech.timing": ("Audio", "Timing"),
    "speech.words": ("FLUSH", "Segment", "Unspoken", "Word"),
}


def __getattr__(name: str) -> object:
    """Imports a name when it is first used: the command must handle signals before numpy is imported."""
    homes = [home for home, names in _HOMES.items() if name in names]
    if not homes and name not in ("adapters", "errors", "text"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if reason := unsuitable_python():
        raise ImportError(reason)
    if not homes:
        return import_module(f".{name}", __name__)
    globals()[name] = found = getattr(import_module(f".{homes[0]}", __name__), name)
    return found


def unsuitable_python() -> str:
    """Returns a sentence if this Python is too old, and an empty string otherwise."""
    if sys.version_info >= (3, 10):  # noqa: UP036
        return ""
    return "runtime_min needs Python 3.10 or later, and this is Python {}.{}.".format(*sys.version_info)
