"""Ahead-of-time exporter of the Kokoro text-to-speech model: checkpoint in, bundle out."""

__version__ = "0.1.0"
