"""Hand-blocked CPU kernels: TVMScript functions with symbolic lengths, each made by a factory."""

from exporter.compiler.kernels import adain, conv1d, embedding, layer_norm, lstm, phases, spectrum

__all__ = ["adain", "conv1d", "embedding", "layer_norm", "lstm", "phases", "spectrum"]
