"""What a bundle is compared with: kokoro in PyTorch and in ONNX Runtime, and kokoro-onnx.

``python -m exporter.bench.competitors ENGINE PHONEMES FILE`` speaks once into a WAV file, for cold starts;
ENGINE is JSON of `exporter.bench.engine.Engine`.
"""
