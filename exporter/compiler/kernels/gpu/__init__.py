"""The kernels of the CPU for a GPU, module by module: equal names, buffers and results, other schedules.

A kernel is written for blocks of threads (`T.thread_binding`), so that TVM prints it as Metal or CUDA source.
All of it is float32 and without atomic operations: the same inputs give the same bits. Metal compiles with
fast math, so nothing relies on NaN, infinity, the order of a sum or an exact division. Positions are 32-bit:
the longest axis (614,401 steps at 5120 frames) times its 128 channels is 79 million, of 2,147 million.
"""

from exporter.compiler.kernels.gpu import adain, conv1d, embedding, layer_norm, lstm, phases, spectrum

__all__ = ["adain", "conv1d", "embedding", "layer_norm", "lstm", "phases", "spectrum"]
