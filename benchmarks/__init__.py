"""Compares a bundle with kokoro in PyTorch and in ONNX Runtime, and with kokoro-onnx; for developers."""
