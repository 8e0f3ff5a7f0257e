"""Speaks from a bundle that `kokoro-export` wrote, with numpy and the TVM runtime alone.

from runtime_min import Bundle
audio = Bundle.load("bundles/demo").synthesize("həlˈO wˈɜɹld!", voice="af_heart")

The public API is what this module exports, and the modules `runtime_min.text` (text to phonemes),
`runtime_min.adapters` (for apps written for kokoro or kokoro-onnx) and `runtime_min.errors`. All else is
internal and may change. Each folder imports from those before it: `format` reads and verifies a bundle,
`engine` runs its stages, `model` computes an utterance, `speech` speaks input of any length, `output` writes
files.
"""

from .bundle import Bundle
from .errors import BundleError, InputError, KokoroError, MachineError, OutputError
from .model.voices import VoiceName
from .output.wav import audio_file, encode, wav_header, write_wav
from .speech.stream import Stream
from .speech.subtitles import write_timings
from .speech.timing import Audio, Timing
from .speech.words import Segment, Word

__version__ = "0.1.0"
"""The version of this package, of the exporter and of the server: they are released together."""

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
    "audio_file",
    "encode",
    "wav_header",
    "write_timings",
    "write_wav",
]
