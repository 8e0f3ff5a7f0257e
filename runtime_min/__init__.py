"""Speaks from a bundle that `kokoro-export` wrote: numpy and the TVM runtime, nothing else.

from runtime_min import Bundle
audio = Bundle.load("bundles/demo").synthesize("həlˈO wˈɜɹld!", voice="af_heart")
"""

from .bundle import Audio, Bundle
from .errors import BundleError, InputError, KokoroError, MachineError, OutputError
from .wav import write_wav

__all__ = [
    "Audio",
    "Bundle",
    "BundleError",
    "InputError",
    "KokoroError",
    "MachineError",
    "OutputError",
    "write_wav",
]
