"""Imports what a process with kokoro imports before it loads a model."""

from importlib import import_module

from exporter.compiler.long_lived import long_lived

with long_lived():
    for module in ("exporter.model.checkpoint", "exporter.reference.recording", "kokoro.model"):
        import_module(module)
