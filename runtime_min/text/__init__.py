"""Text to phonemes.

from runtime_min.text import espeak
bundle.synthesize("¡Hola!", voice="ef_dora", g2p=espeak("es"))
"""

from .installed_g2p import LANGUAGES, espeak, find_g2p, language_code, misaki

__all__ = ["LANGUAGES", "espeak", "find_g2p", "language_code", "misaki"]
