"""Text to phonemes.

from runtime_min.text import espeak
bundle.synthesize("Bonjour !", voice="ff_siwis", g2p=espeak("fr-fr"))
"""

from .installed_g2p import LANGUAGES, espeak, find_g2p, language_code, misaki

__all__ = ["LANGUAGES", "espeak", "find_g2p", "language_code", "misaki"]
