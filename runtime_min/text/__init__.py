"""Text to phonemes.

from runtime_min.text import spanish
bundle.synthesize("¡Hola!", voice="ef_dora", g2p=spanish)
"""

from .installed_g2p import LANGUAGES, espeak, find_g2p, language_code, misaki
from .spanish_rules import spanish

__all__ = ["LANGUAGES", "espeak", "find_g2p", "language_code", "misaki", "spanish"]
