"""Text to phonemes.

from runtime_min.text import spanish
bundle.synthesize("¡Hola!", voice="ef_dora", g2p=spanish)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .installed_g2p import LANGUAGES, espeak, find_g2p, language_code, misaki

if TYPE_CHECKING:
    from .italian_rules import italian
    from .spanish_rules import spanish

__all__ = ["LANGUAGES", "espeak", "find_g2p", "italian", "language_code", "misaki", "spanish"]

_RULES = {"italian": "italian_rules", "spanish": "spanish_rules"}
"""Modules of rules, by the function that each is imported for."""


def __getattr__(name: str) -> object:
    if name not in _RULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f".{_RULES[name]}", __name__), name)
    return found
