"""Engines in programs of C without Python: a bundle in libkokoro, and kokoro in sherpa-onnx."""
