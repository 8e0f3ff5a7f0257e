"""Ahead-of-time exporter of the Kokoro text-to-speech model: checkpoint in, bundle out."""

PYTHONS = ((3, 11), (3, 12))
"""Versions of Python that can export: those of the pinned packages. The runtime also runs on others."""
