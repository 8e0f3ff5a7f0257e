"""``kokoro-export bench``: a bundle beside kokoro in PyTorch and in ONNX Runtime, measured in one run."""
