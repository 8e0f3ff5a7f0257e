"""Speaks from a bundle that `kokoro-export` wrote: numpy and the TVM runtime, nothing else.

from runtime_min import Bundle
audio = Bundle.load("bundles/demo").synthesize("həlˈO wˈɜɹld!", voice="af_heart")
"""

from .bundle import Bundle
from .errors import BundleError, InputError, KokoroError, MachineError, OutputError
from .model.voices import VoiceName
from .output.wav import write_wav
from .speech.stream import Stream
from .speech.timing import Audio, Timing
from .speech.words import Segment, Word

__all__ = [
    "Audio",
    "Bundle",
    "BundleError",
    "InputError",
    "KokoroError",
    "MachineError",
    "OutputError",
    "Segment",
    "Stream",
    "Timing",
    "VoiceName",
    "Word",
    "write_wav",
]
